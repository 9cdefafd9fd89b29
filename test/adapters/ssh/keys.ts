import { generateKeyPairSync } from 'node:crypto';

/** A new Ed25519 key in the key file's form: seed, then public key. */
export function rawKey(): Buffer {
  const { d, x } = generateKeyPairSync('ed25519').privateKey.export({ format: 'jwk' });
  return Buffer.concat([Buffer.from(d!, 'base64url'), Buffer.from(x!, 'base64url')]);
}
