import { createPrivateKey, generateKeyPairSync } from 'node:crypto';
import type { KeyObject } from 'node:crypto';

/** Raw halves of an Ed25519 key pair, 32 bytes each. */
export interface RawKeyPair {
  readonly seed: Uint8Array;
  readonly publicKey: Uint8Array;
}

const HALF_BYTES = 32;
/** PKCS#8 around a raw Ed25519 seed (RFC 8410). */
const PKCS8_PREFIX = Buffer.from('302e020100300506032b657004220420', 'hex');

/** A fresh key pair from the system's random source. */
export function generateRawKeyPair(): RawKeyPair {
  const { privateKey } = generateKeyPairSync('ed25519');
  const { d = '', x = '' } = privateKey.export({ format: 'jwk' });
  return { seed: Buffer.from(d, 'base64url'), publicKey: Buffer.from(x, 'base64url') };
}

/** The 64 bytes of `AgentInit.private_key`: seed, then public key. */
export const joinKeyPair = ({ seed, publicKey }: RawKeyPair): Uint8Array =>
  Buffer.concat([seed, publicKey]);

/** @throws {Error} not 64 bytes. */
export function splitKeyPair(joined: Uint8Array): RawKeyPair {
  if (joined.length !== 2 * HALF_BYTES) throw new Error(`private key has ${joined.length} bytes`);
  return { seed: joined.subarray(0, HALF_BYTES), publicKey: joined.subarray(HALF_BYTES) };
}

/** What TLS and signing take. */
export const privateKeyOf = ({ seed }: RawKeyPair): KeyObject =>
  createPrivateKey({ key: Buffer.concat([PKCS8_PREFIX, seed]), format: 'der', type: 'pkcs8' });
