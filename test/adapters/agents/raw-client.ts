import 'reflect-metadata';
import { webcrypto } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:http2';
import type { ClientHttp2Session, ClientHttp2Stream, OutgoingHttpHeaders } from 'node:http2';
import * as x509 from '@peculiar/x509';
import { HEARTBEAT_PATH } from '../../../src/wire/codec.ts';

/** PEM, as TLS expects it. */
export interface RawIdentity {
  readonly key: string;
  readonly cert: string;
}

export const ED25519 = { name: 'Ed25519' };
export const P256 = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
export const RSA = {
  name: 'RSASSA-PKCS1-v1_5',
  hash: 'SHA-256',
  publicExponent: new Uint8Array([1, 0, 1]),
  modulusLength: 2048,
};

type Algorithm = typeof ED25519 | typeof P256 | typeof RSA;
const LIFETIME = { notBefore: new Date(0), notAfter: new Date('9999-12-31T23:59:59Z') };

const newKeys = (algorithm: Algorithm) =>
  webcrypto.subtle.generateKey(algorithm, true, [
    'sign',
    'verify',
  ]) as Promise<webcrypto.CryptoKeyPair>;

async function toPem(keys: webcrypto.CryptoKeyPair, certificates: x509.X509Certificate[]) {
  const der = await webcrypto.subtle.exportKey('pkcs8', keys.privateKey);
  return {
    key: x509.PemConverter.encode(der, 'PRIVATE KEY'),
    cert: certificates.map((each) => each.toString('pem')).join('\n'),
  };
}

/** A self-signed certificate for a key of this kind. */
export async function selfSigned(algorithm: Algorithm): Promise<RawIdentity> {
  const keys = await newKeys(algorithm);
  const name = 'CN=agent';
  const options = { ...LIFETIME, name, keys, signingAlgorithm: algorithm };
  return toPem(keys, [await x509.X509CertificateGenerator.createSelfSigned(options)]);
}

/** An Ed25519 certificate that another key signed, with its issuer's certificate when chained. */
export async function signedByOther(options: { chained: boolean }): Promise<RawIdentity> {
  const [keys, issuerKeys] = await Promise.all([newKeys(ED25519), newKeys(ED25519)]);
  const issuer = await x509.X509CertificateGenerator.createSelfSigned({
    ...LIFETIME,
    name: 'CN=issuer',
    keys: issuerKeys,
    signingAlgorithm: ED25519,
  });
  const certificate = await x509.X509CertificateGenerator.create({
    ...LIFETIME,
    // The same name: without a check of the signature it looks self-signed.
    subject: options.chained ? 'CN=agent' : 'CN=issuer',
    issuer: 'CN=issuer',
    publicKey: keys.publicKey,
    signingKey: issuerKeys.privateKey,
    signingAlgorithm: ED25519,
  });
  return toPem(keys, options.chained ? [certificate, issuer] : [certificate]);
}

/** A self-signed Ed25519 certificate, followed by another one of the same name. */
export async function twoSelfSigned(): Promise<RawIdentity> {
  const [own, other] = await Promise.all([selfSigned(ED25519), selfSigned(ED25519)]);
  return { key: own.key, cert: `${own.cert}\n${other.cert}` };
}

export interface RawAnswer {
  /** `grpc-status`. */
  readonly status: string | undefined;
  readonly message: string | undefined;
}

/** A client that can break every rule. */
export function openRawClient(options: {
  address: string;
  trust: string;
  identity: RawIdentity | null;
}): ClientHttp2Session {
  const session = connect(`https://${options.address}`, {
    ca: [options.trust],
    ...options.identity,
  });
  session.on('error', () => undefined);
  return session;
}

/** Begins a call. The caller may send the body or not. */
export function openRawCall(
  session: ClientHttp2Session,
  headers: OutgoingHttpHeaders = {},
): ClientHttp2Stream {
  const stream = session.request({
    ':method': 'POST',
    ':path': HEARTBEAT_PATH,
    'content-type': 'application/grpc',
    te: 'trailers',
    ...headers,
  });
  stream.on('error', () => undefined);
  return stream;
}

/** Sends these bytes as the whole body of one call. */
export async function rawCall(
  session: ClientHttp2Session,
  body: Uint8Array,
  headers: OutgoingHttpHeaders = {},
): Promise<RawAnswer> {
  const stream = openRawCall(session, headers);
  let seen: OutgoingHttpHeaders = {};
  stream.on('response', (head) => (seen = { ...seen, ...head }));
  stream.on('trailers', (trailers) => (seen = { ...seen, ...trailers }));
  stream.on('data', () => undefined);
  stream.end(body);
  await once(stream, 'close');
  return {
    status: seen['grpc-status'] as string | undefined,
    message: seen['grpc-message'] as string | undefined,
  };
}
