import { webcrypto } from 'node:crypto';

/** What a light agent is known by. */
export interface LightIdentity {
  /** Raw Ed25519 public key, 32 bytes. */
  readonly publicKey: Uint8Array;
  /** PEM, as the TLS client takes them. */
  readonly key: string;
  readonly certificate: string;
}

const CLIENT_AUTH = '1.3.6.1.5.5.7.3.2';

/** A fresh key and a certificate that it signed itself, as the agent's. */
export async function createLightIdentity(): Promise<LightIdentity> {
  await import('reflect-metadata');
  const x509 = await import('@peculiar/x509');
  x509.cryptoProvider.set(webcrypto);
  const { subtle } = webcrypto;
  const keys = (await subtle.generateKey('Ed25519', true, [
    'sign',
    'verify',
  ])) as webcrypto.CryptoKeyPair;
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: '01',
    name: 'CN=agent',
    notBefore: new Date('2000-01-01T00:00:00Z'),
    notAfter: new Date('9999-12-31T23:59:59Z'),
    signingAlgorithm: { name: 'Ed25519' },
    keys,
    extensions: [new x509.ExtendedKeyUsageExtension([CLIENT_AUTH])],
  });
  const [raw, pkcs8] = await Promise.all([
    subtle.exportKey('raw', keys.publicKey),
    subtle.exportKey('pkcs8', keys.privateKey),
  ]);
  return {
    publicKey: new Uint8Array(raw),
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
