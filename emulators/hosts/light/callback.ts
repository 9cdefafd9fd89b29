import { X509Certificate } from 'node:crypto';
import { connect as connectHttp2 } from 'node:http2';
import type { ClientHttp2Session } from 'node:http2';
import { connect as connectTls } from 'node:tls';
import { heartbeatRequestCodec, heartbeatResponseCodec } from '../../../src/wire/codec.ts';
import type { HeartbeatRequest, HeartbeatResponse, TakeoverInit } from '../../../src/wire/codec.ts';
import { callUnary } from '../../../src/wire/grpc.ts';
import { HEARTBEAT_PATH } from '../../../src/wire/heartbeat.ts';
import type { LightIdentity } from './identity.ts';

/** A light agent's connection to the agent server: mutual TLS and HTTP/2, kept open. */
export interface Callback {
  /** @throws {Error} however it went wrong; the next call then connects anew. */
  heartbeat(request: HeartbeatRequest, signal: AbortSignal): Promise<HeartbeatResponse>;
  close(): void;
}

const RESPONSE_LIMIT_BYTES = 1024 * 1024;

/**
 * Connects at the first call to where `TakeoverInit` says, and trusts what it says.
 * @throws {Error} the endpoint or the certificate cannot be read.
 */
export function createCallback(init: TakeoverInit, identity: LightIdentity): Callback {
  const dial = dialler(init, identity);
  let session: ClientHttp2Session | undefined;
  const close = () => {
    session?.destroy();
    session = undefined;
  };
  return {
    close,
    async heartbeat(request, signal) {
      if (!session || session.closed || session.destroyed) session = dial();
      try {
        const body = heartbeatRequestCodec.encode(request);
        const limit = { answerBytesMax: RESPONSE_LIMIT_BYTES };
        const answer = await callUnary(session, { path: HEARTBEAT_PATH, body, ...limit, signal });
        return heartbeatResponseCodec.decode(answer);
      } catch (error) {
        close();
        throw error;
      }
    },
  };
}

function dialler(
  { bmaasEndpoint, caCertificate }: TakeoverInit,
  { key, certificate }: LightIdentity,
): () => ClientHttp2Session {
  const { hostname, port } = new URL(`https://${bmaasEndpoint}`);
  const host = hostname.replace(/^\[(.*)\]$/, '$1');
  const ca = caCertificate?.length ? new X509Certificate(caCertificate).toString() : undefined;
  return () => {
    const socket = connectTls({
      host,
      port: Number(port || 443),
      ...(ca === undefined ? {} : { ca: [ca] }),
      key,
      cert: certificate,
      minVersion: 'TLSv1.3',
      ALPNProtocols: ['h2'],
    });
    socket.setNoDelay(true);
    const session = connectHttp2(`https://${bmaasEndpoint}`, { createConnection: () => socket });
    // Calls in flight are told by their own stream.
    session.on('error', () => session.destroy());
    return session;
  };
}
