import { createHash } from 'node:crypto';
import { HostKeyRejected, UsageError } from '../../domain/errors.ts';
import type { HostKeyRule, SeenHostKey } from '../provider/port.ts';
import { fingerprintOf } from './port.ts';

/** @param hostKey base64 of the wire form. */
export const seenHostKey = (hostKey: string): SeenHostKey => ({
  hostKey,
  fingerprint: fingerprintOf(hostKey),
});

/**
 * Lets a host key pass, or does not.
 * @throws {HostKeyRejected} the rule does not allow it. @throws {UsageError} the rule names nothing by
 *   which a key could be told.
 */
export function assertAllowed({ hostKey, fingerprint }: SeenHostKey, rule: HostKeyRule): void {
  const named = ('told' in rule ? rule.told : rule.unlike).map(spelled);
  const isNamed = [fingerprint, md5Of(hostKey)].some((each) => named.includes(each));
  if ('told' in rule) {
    if (named.length === 0) throw new UsageError('no host key was told that could be expected');
    if (!isNamed) {
      throw new HostKeyRejected(`the host key ${fingerprint} is none of those that were told`);
    }
  } else if (isNamed) {
    throw new HostKeyRejected(`the host key ${fingerprint} is one that must not answer here`);
  }
}

const md5Of = (hostKey: string): string => {
  const hex = createHash('md5').update(Buffer.from(hostKey, 'base64')).digest('hex');
  return hex.replaceAll(/(..)(?!$)/g, '$1:');
};

const MD5 = /^(?:MD5:)?((?:[0-9a-f]{2}:){15}[0-9a-f]{2})$/i;

/** One spelling for each. @throws {UsageError} it is no fingerprint. */
function spelled(text: string): string {
  const md5 = MD5.exec(text)?.[1];
  if (md5 !== undefined) return md5.toLowerCase();
  if (/^SHA256:[A-Za-z0-9+/]{43}=?$/.test(text)) return text.replace(/=$/, '');
  throw new UsageError('this is no fingerprint of a host key');
}
