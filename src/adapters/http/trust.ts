import type { X509Certificate } from 'node:crypto';
import https from 'node:https';
import tls from 'node:tls';

/** Whom to believe at the other end of TLS; there is no way to believe anybody. */
export interface Trust {
  /** Certificates of authorities, PEM; those of the system if absent. */
  readonly ca?: string | undefined;
  /**
   * SHA-256 of the one certificate to be believed: 64 hexadecimal digits of its DER form, with or without
   * colons. Nothing else of the certificate is looked at then.
   */
  readonly sha256?: string | undefined;
}

/** The error of a certificate that is not believed; nothing was sent. */
interface Distrust extends Error {
  code: string;
}

/** The SHA-256 of a certificate as `Trust` has it, lower case without colons. */
export const certificateSha256 = (certificate: X509Certificate): string =>
  plainHex(certificate.fingerprint256);

const plainHex = (text: string): string => text.replaceAll(':', '').toLowerCase();

const trusted = new WeakSet<object>();
/** Whether a socket's certificate was judged, and believed, before anybody else got the socket. */
export const isTrusted = (socket: object): boolean => trusted.has(socket);

/** Connections of which nothing is used before the certificate was believed. */
export function trustingAgent(trust: Trust, options: https.AgentOptions): https.Agent {
  const agent = new https.Agent(options);
  agent.createConnection = (target, onConnected) => {
    const { givenUp } = target as { givenUp?: AbortSignal };
    const socket = tls.connect({
      ...(target as tls.ConnectionOptions),
      ...(trust.ca !== undefined && { ca: trust.ca }),
      // Judged below, before anything is sent, so that a refusal can name the certificate.
      rejectUnauthorized: false,
    });
    const giveUp = () => socket.destroy();
    const onError = (error: Error) => onConnected?.(error, socket);
    givenUp?.addEventListener('abort', giveUp, { once: true });
    socket.once('error', onError);
    socket.once('secureConnect', () => {
      givenUp?.removeEventListener('abort', giveUp);
      socket.off('error', onError);
      const distrust = distrustOf(socket, trust);
      if (distrust === null) {
        trusted.add(socket);
        return onConnected?.(null, socket);
      }
      socket.destroy();
      onConnected?.(distrust, socket);
    });
    return undefined;
  };
  return agent;
}

function distrustOf(socket: tls.TLSSocket, { sha256 }: Trust): Distrust | null {
  const certificate = socket.getPeerX509Certificate();
  const shown = certificate && certificateSha256(certificate);
  if (sha256 === undefined && socket.authorized) return null;
  if (sha256 !== undefined && shown === plainHex(sha256)) return null;
  const why = sha256 === undefined ? String(socket.authorizationError) : 'CERT_NOT_AS_PINNED';
  return Object.assign(new Error(why), { code: `CERT: ${why}, SHA-256 ${shown ?? 'unknown'}` });
}
