import { createHash } from 'node:crypto';
import { bareKey } from '../../kit/public-key.ts';

/**
 * Of a public key as Robot names keys: MD5 of the blob, in lower-case pairs with colons. It is compared
 * with what Robot tells over TLS, and proves nothing by itself.
 * @param blob the wire form, or base64 of it.
 */
export function md5Of(blob: Buffer | string): string {
  const bytes = typeof blob === 'string' ? Buffer.from(blob, 'base64') : blob;
  const digest = createHash('md5').update(bytes).digest('hex');
  return digest.match(/../g)!.join(':');
}

/** Of the key in an OpenSSH line. */
export const md5OfLine = (line: string): string => md5Of(bareKey(line).split(' ')[1] ?? '');
