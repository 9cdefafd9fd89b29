import { createPrivateKey, generateKeyPairSync, type KeyObject, webcrypto } from 'node:crypto';

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

/** The TLS client's credentials, PEM. */
export interface ClientIdentity {
  readonly key: string;
  readonly certificate: string;
}

const CLIENT_AUTH = '1.3.6.1.5.5.7.3.2';
const ALGORITHM = { name: 'Ed25519' };

/**
 * Self-signed certificate of the agent's key: serial 1, client authentication, no expiry. Only its
 * key counts. Loads the X.509 library lazily, because the agent start, for which a person may wait,
 * does not need it.
 */
export async function createClientIdentity(pair: RawKeyPair): Promise<ClientIdentity> {
  await import('reflect-metadata');
  const x509 = await import('@peculiar/x509');
  x509.cryptoProvider.set(webcrypto);
  const privateKey = privateKeyOf(pair);
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: '01',
    name: 'CN=agent',
    notBefore: new Date('2000-01-01T00:00:00Z'),
    notAfter: new Date('9999-12-31T23:59:59Z'),
    signingAlgorithm: ALGORITHM,
    keys: await toWebKeys(privateKey.export({ format: 'jwk' })),
    extensions: [new x509.ExtendedKeyUsageExtension([CLIENT_AUTH])],
  });
  return {
    key: privateKey.export({ format: 'pem', type: 'pkcs8' }) as string,
    certificate: certificate.toString('pem'),
  };
}

async function toWebKeys({ d, ...jwk }: webcrypto.JsonWebKey): Promise<webcrypto.CryptoKeyPair> {
  const { subtle } = webcrypto;
  const [privateKey, publicKey] = await Promise.all([
    subtle.importKey('jwk', { ...jwk, ...(d ? { d } : {}) }, ALGORITHM, false, ['sign']),
    subtle.importKey('jwk', jwk, ALGORITHM, true, ['verify']),
  ]);
  return { privateKey, publicKey };
}
