import { webcrypto } from 'node:crypto';

/** What a light agent is known by. */
export interface LightIdentity {
  /** Raw Ed25519 public key, 32 bytes. */
  readonly publicKey: Uint8Array;
  /** As in `AgentInit`: 64 bytes, the seed and then the public key. */
  readonly privateKey: Uint8Array;
  /** PEM, as the TLS client takes them. */
  readonly key: string;
  readonly certificate: string;
}

const CLIENT_AUTH = '1.3.6.1.5.5.7.3.2';

const ALGORITHM = 'Ed25519';
const HALF_BYTES = 32;
/** PKCS#8 around a raw Ed25519 seed (RFC 8410). */
const PKCS8_PREFIX = Buffer.from('302e020100300506032b657004220420', 'hex');

/** A fresh key and a certificate that it signed itself, as the agent's. */
export async function createLightIdentity(): Promise<LightIdentity> {
  const { subtle } = webcrypto;
  const keys = await subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);
  return identityOf(keys as webcrypto.CryptoKeyPair);
}

/** The identity of an earlier agent. @throws {Error} the key is none. */
export async function lightIdentityOf(privateKey: Uint8Array): Promise<LightIdentity> {
  const { subtle } = webcrypto;
  const seed = Buffer.concat([PKCS8_PREFIX, privateKey.subarray(0, HALF_BYTES)]);
  const publicKey = Buffer.from(privateKey.subarray(HALF_BYTES));
  return identityOf({
    privateKey: await subtle.importKey('pkcs8', seed, ALGORITHM, true, ['sign']),
    publicKey: await subtle.importKey('raw', publicKey, ALGORITHM, true, ['verify']),
  });
}

async function identityOf(keys: webcrypto.CryptoKeyPair): Promise<LightIdentity> {
  await import('reflect-metadata');
  const x509 = await import('@peculiar/x509');
  x509.cryptoProvider.set(webcrypto);
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: '01',
    name: 'CN=agent',
    notBefore: new Date('2000-01-01T00:00:00Z'),
    notAfter: new Date('9999-12-31T23:59:59Z'),
    signingAlgorithm: { name: ALGORITHM },
    keys,
    extensions: [new x509.ExtendedKeyUsageExtension([CLIENT_AUTH])],
  });
  const { subtle } = webcrypto;
  const [raw, pkcs8] = await Promise.all([
    subtle.exportKey('raw', keys.publicKey),
    subtle.exportKey('pkcs8', keys.privateKey),
  ]);
  const seed = Buffer.from(pkcs8).subarray(PKCS8_PREFIX.length);
  return {
    publicKey: new Uint8Array(raw),
    privateKey: Buffer.concat([seed, Buffer.from(raw)]),
    key: pem('PRIVATE KEY', pkcs8),
    certificate: certificate.toString('pem'),
  };
}

function pem(label: string, bytes: ArrayBuffer): string {
  const lines = Buffer.from(bytes)
    .toString('base64')
    .replaceAll(/.{64}(?=.)/g, '$&\n');
  return `-----BEGIN ${label}-----\n${lines}\n-----END ${label}-----\n`;
}
