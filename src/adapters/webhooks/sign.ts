import { createHmac, createPrivateKey, sign, type KeyObject } from 'node:crypto';
import { UsageError } from '../../domain/errors.ts';
import { signingSecretOf } from '../../domain/events/signing-secret.ts';

/** What is signed: the id, when it is sent, and the body as it is sent. */
export interface Message {
  readonly id: string;
  /** Seconds since 1970. */
  readonly timestamp: number;
  readonly body: string;
}

/** What stands before the seed of an ed25519 key in PKCS #8 (RFC 8410). */
const PKCS8 = Buffer.from('302e020100300506032b657004220420', 'hex');
const SEED_BYTES = 32;

/**
 * The headers by which a receiver knows who sent a message, as Standard Webhooks 1.0 has them. One
 * signature for each secret: two while they are changed.
 * @throws {UsageError} one of the secrets is none.
 */
export function signedHeaders(message: Message, secrets: readonly string[]) {
  const { id, timestamp, body } = message;
  const content = `${id}.${timestamp}.${body}`;
  return {
    'webhook-id': id,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': secrets.map((secret) => signatureOf(content, secret)).join(' '),
  };
}

function signatureOf(content: string, secret: string): string {
  const found = signingSecretOf(secret);
  if (!found) throw new UsageError('a secret of a webhook is neither whsec_… nor whsk_…');
  const key = Buffer.from(found.base64, 'base64');
  return found.kind === 'hmac'
    ? `v1,${createHmac('sha256', key).update(content).digest('base64')}`
    : `v1a,${sign(null, Buffer.from(content), ed25519Key(key)).toString('base64')}`;
}

const ed25519Key = (key: Buffer): KeyObject =>
  createPrivateKey({
    key: Buffer.concat([PKCS8, key.subarray(0, SEED_BYTES)]),
    format: 'der',
    type: 'pkcs8',
  });
