import { webcrypto } from 'node:crypto';
import { privateKeyOf } from './keys.ts';
import type { RawKeyPair } from './keys.ts';

/** What the TLS client presents, PEM. */
export interface ClientIdentity {
  readonly key: string;
  readonly certificate: string;
}

const CLIENT_AUTH = '1.3.6.1.5.5.7.3.2';
const ALGORITHM = { name: 'Ed25519' };

/**
 * Self-signed certificate of the agent's key: serial 1, client authentication, no expiry. Only the
 * key in it counts. The X.509 library is loaded here and not earlier, because the takeover, which
 * a person may wait for, does without it.
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
