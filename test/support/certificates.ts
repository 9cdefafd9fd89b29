import 'reflect-metadata';
import { webcrypto } from 'node:crypto';
import { isIP } from 'node:net';
import * as x509 from '@peculiar/x509';

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
const SERVER_AUTH = '1.3.6.1.5.5.7.3.1';
const DAY_MS = 24 * 3600_000;

/** A certificate and its key, both PEM. */
export interface Issued {
  readonly key: string;
  readonly cert: string;
  readonly keys: webcrypto.CryptoKeyPair;
}

export interface Wishes {
  readonly name?: string;
  /** Names and addresses; without any, the certificate is an authority's. */
  readonly names?: readonly string[];
  /** Self-signed when absent. */
  readonly by?: Issued;
  /** Days from now. */
  readonly fromDays?: number;
  readonly toDays?: number;
  readonly usage?: string;
}

export async function issue(wishes: Wishes): Promise<Issued> {
  const { name = 'CN=authority', names, by, fromDays = -1, toDays = 365 } = wishes;
  const keys = await webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);
  const certificate = await x509.X509CertificateGenerator.create({
    serialNumber: webcrypto.randomUUID().replaceAll('-', ''),
    notBefore: new Date(Date.now() + fromDays * DAY_MS),
    notAfter: new Date(Date.now() + toDays * DAY_MS),
    subject: name,
    issuer: by ? new x509.X509Certificate(by.cert).subject : name,
    publicKey: keys.publicKey,
    signingKey: (by?.keys ?? keys).privateKey,
    signingAlgorithm: ALGORITHM,
    extensions: names
      ? [
          new x509.BasicConstraintsExtension(false),
          new x509.ExtendedKeyUsageExtension([wishes.usage ?? SERVER_AUTH]),
          new x509.SubjectAlternativeNameExtension(
            names.map((value) => ({ type: isIP(value) === 0 ? 'dns' : 'ip', value })),
          ),
        ]
      : [
          new x509.BasicConstraintsExtension(true, undefined, true),
          new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign, true),
        ],
  });
  const der = await webcrypto.subtle.exportKey('pkcs8', keys.privateKey);
  const key = `${x509.PemConverter.encode(der, 'PRIVATE KEY')}\n`;
  return { key, cert: `${certificate.toString('pem')}\n`, keys };
}
