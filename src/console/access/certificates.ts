import type { IncomingMessage } from 'node:http';
import { TLSSocket } from 'node:tls';

/**
 * The common name of the certificate that a client proved to have, signed by an authority that the
 * console trusts; null: there is none, or it is not to be trusted.
 */
export function certificateName({ socket }: IncomingMessage): string | null {
  if (!(socket instanceof TLSSocket) || !socket.authorized) return null;
  const { subject } = socket.getPeerCertificate();
  const name: unknown = subject?.CN;
  return typeof name === 'string' && name !== '' ? name : null;
}
