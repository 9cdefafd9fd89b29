import type { X509Certificate } from 'node:crypto';
import type { Http2Session } from 'node:http2';
import { TLSSocket } from 'node:tls';
import { GrpcError, GrpcStatus } from '../../wire/grpc.ts';

/** SPKI of an Ed25519 key ends with the raw key. */
const RAW_KEY_BYTES = 32;

const refuse = (message: string, cause?: unknown) =>
  new GrpcError(GrpcStatus.unauthenticated, message, { cause });

/**
 * The raw Ed25519 key that the peer of a TLS session proved to have. No authority is asked: the
 * handshake proves possession, and the key alone says who it is.
 * @throws {GrpcError} UNAUTHENTICATED: none, more than one, another kind, or not self-signed.
 */
export function readClientKey(session: Http2Session): Uint8Array {
  // The session gives its socket behind a proxy that lets reads through.
  const { socket } = session;
  if (!(socket instanceof TLSSocket)) throw refuse('TLS is required');
  const certificate = socket.getPeerX509Certificate();
  if (!certificate) throw refuse('a client certificate is required');
  try {
    return keyOf(certificate);
  } catch (error) {
    if (error instanceof GrpcError) throw error;
    // The library throws on keys and signatures of a kind it does not know.
    throw refuse('the client certificate cannot be read', error);
  }
}

function keyOf(certificate: X509Certificate): Uint8Array {
  const { publicKey } = certificate;
  if (certificate.issuerCertificate) throw refuse('exactly one client certificate is required');
  if (publicKey.asymmetricKeyType !== 'ed25519') throw refuse('the client key must be Ed25519');
  if (!certificate.verify(publicKey)) throw refuse('the client certificate is not self-signed');
  return publicKey.export({ format: 'der', type: 'spki' }).subarray(-RAW_KEY_BYTES);
}
