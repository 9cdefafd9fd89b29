import { X509Certificate } from 'node:crypto';
import { connect as connectHttp2, type ClientHttp2Session } from 'node:http2';
import { isIP } from 'node:net';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import {
  heartbeatRequestCodec,
  heartbeatResponseCodec,
  type HeartbeatRequest,
  type HeartbeatResponse,
} from '../wire/codec.ts';
import { GrpcError, GrpcStatus, callUnary } from '../wire/grpc.ts';
import { HEARTBEAT_PATH } from '../wire/codec.ts';
import type { ClientIdentity } from './keys.ts';

/** The agent's client of the callback service. */
export interface CallbackClient {
  /**
   * Makes one call on the open connection or on a new one, within the time limit.
   * @throws {GrpcError} the service's status, or our own UNAVAILABLE / DEADLINE_EXCEEDED; this
   * closes the connection, so that the next call opens a new one.
   */
  heartbeat(request: HeartbeatRequest, signal: AbortSignal): Promise<HeartbeatResponse>;
  /** Closes the connection. Idempotent. */
  close(): void;
}

export interface CallbackClientOptions {
  readonly endpoint: Endpoint;
  readonly identity: ClientIdentity;
  /** PEM of the root certificate of the service; null: the system's roots. */
  readonly trust: string | null;
  /** Limit of a whole call, including the connection. */
  readonly callTimeoutMs: number;
}

const RESPONSE_LIMIT_BYTES = 4 * 1024 * 1024;

export function createCallbackClient(options: CallbackClientOptions): CallbackClient {
  let open: ClientHttp2Session | null = null;
  let distrust: Error | null = null;
  const close = () => {
    open?.destroy();
    open = null;
  };
  const session = () => {
    if (open && !open.closed && !open.destroyed) return open;
    distrust = null;
    open = openSession(options, (error) => {
      if (isDistrust(error)) distrust ??= error;
    });
    return open;
  };
  return {
    close,
    async heartbeat(request, signal) {
      const limit = AbortSignal.timeout(options.callTimeoutMs);
      try {
        const body = heartbeatRequestCodec.encode(request);
        const answer = await callUnary(session(), {
          path: HEARTBEAT_PATH,
          body,
          answerBytesMax: RESPONSE_LIMIT_BYTES,
          signal: AbortSignal.any([signal, limit]),
        });
        return heartbeatResponseCodec.decode(answer);
      } catch (error) {
        close();
        if (distrust) throw notTrusted(options, distrust);
        throw limit.aborted ? tooSlow(options.callTimeoutMs, error) : asGrpcError(error);
      }
    },
  };
}

/** Names of certificate errors from OpenSSL and Node. */
const DISTRUST =
  /^(UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_|CERT_|INVALID_CA|INVALID_PURPOSE|PATH_LENGTH_|HOSTNAME_MISMATCH|ERR_TLS_CERT_)/;
const isDistrust = (error: Error): boolean =>
  DISTRUST.test(String((error as NodeJS.ErrnoException).code));

/** The error text for an operator, because the server side learns nothing of this failure. */
function notTrusted({ endpoint, trust }: CallbackClientOptions, cause: Error): GrpcError {
  const { host, port } = endpoint;
  const { code } = cause as NodeJS.ErrnoException;
  const told =
    trust === null
      ? 'this agent was given no authority, so that it trusts only those of its runtime'
      : `this agent was given the authority ${subjectOf(trust)}`;
  return new GrpcError(
    GrpcStatus.unavailable,
    `the certificate of the server at ${host}:${port} is not trusted (${code}: ${cause.message}); ` +
      `${told}. See that agentServer.certificatePath names ${host} and comes from the authority in ` +
      'agent.endpointCaCertificatePath ("shepherd run --check-config" shows this), then restart the agent ' +
      '("shepherd machine restart-agent MACHINE")',
    { cause },
  );
}

const subjectOf = (pem: string): string => new X509Certificate(pem).subject.replaceAll('\n', ', ');

const tooSlow = (limitMs: number, cause: unknown) =>
  new GrpcError(GrpcStatus.deadlineExceeded, `no answer within ${limitMs} ms`, { cause });

function asGrpcError(error: unknown): GrpcError {
  if (error instanceof GrpcError) return error;
  const message = error instanceof Error ? error.message : String(error);
  return new GrpcError(GrpcStatus.unavailable, message, { cause: error });
}

function openSession(
  options: CallbackClientOptions,
  onError: (error: Error) => void,
): ClientHttp2Session {
  const { host, port } = options.endpoint;
  const authority = `https://${isIP(host) === 6 ? `[${host}]` : host}:${port}`;
  const session = connectHttp2(authority, {
    createConnection: () => openSocket(options).on('error', onError),
  });
  // Without a listener, a broken idle connection would end the program. Streams report errors of
  // their calls.
  session.on('error', () => session.destroy());
  return session;
}

function openSocket({ endpoint, identity, trust }: CallbackClientOptions): TLSSocket {
  const { host, port } = endpoint;
  const socket = connectTls({
    host,
    port,
    // An address is no server name (RFC 6066); the certificate is checked against `host`.
    ...(isIP(host) === 0 ? { servername: host } : {}),
    ...(trust === null ? {} : { ca: [trust] }),
    key: identity.key,
    cert: identity.certificate,
    minVersion: 'TLSv1.3',
    ALPNProtocols: ['h2'],
  });
  socket.setNoDelay(true);
  return socket;
}

export interface Endpoint {
  readonly host: string;
  readonly port: number;
}

/**
 * Parses `host:port`; an IPv6 address needs brackets.
 * @throws {Error} any other form.
 */
export function parseEndpoint(text: string): Endpoint {
  const match = /^(?:\[([^\]]+)\]|([^:[\]\s/]+)):(\d{1,5})$/.exec(text);
  const host = match?.[1] ?? match?.[2];
  const port = Number(match?.[3]);
  const bad = !host || port < 1 || port > 65_535 || (match?.[1] && isIP(match[1]) !== 6);
  if (bad) throw new Error(`endpoint is not host:port: ${JSON.stringify(text)}`);
  return { host, port };
}
