import { constants } from 'node:http2';
import type { Http2Session, IncomingHttpHeaders, ServerHttp2Stream } from 'node:http2';
import {
  GRPC_CONTENT_TYPE,
  GrpcError,
  GrpcStatus,
  readFrame,
  statusTrailers,
  writeFrame,
} from '../../wire/grpc.ts';
import { HEARTBEAT_PATH } from '../../wire/heartbeat.ts';
import { networkOf } from '../../domain/network.ts';
import type { Clock } from '../clock/port.ts';
import type { Log } from '../log/port.ts';
import type { Metrics } from '../metrics/port.ts';
import { readClientKey } from './client-key.ts';
import type { Connections } from './connections.ts';
import type { HeartbeatService } from './heartbeat-service.ts';
import type { AgentServerLimits } from './limits.ts';

export interface CallHandlerOptions {
  readonly service: HeartbeatService;
  readonly clock: Clock;
  readonly log: Log;
  readonly limits: Pick<AgentServerLimits, 'messageBytes' | 'callMs'>;
  readonly metrics: Pick<Metrics, 'heartbeat' | 'observe'> | undefined;
  /** While it answers false, calls end UNAVAILABLE unread. */
  readonly isOpen: () => boolean;
  /** Hears how the calls of a connection end. */
  readonly connections: Pick<Connections, 'accepted' | 'refused'>;
}

/** Takes one call from its headers to its status. Total: whatever the peer does, it is logged. */
export type CallHandler = (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => void;

export function createCallHandler(options: CallHandlerOptions): CallHandler {
  const { clock, log, limits, metrics, connections } = options;
  const answer = createAnswer(options);
  const take = async (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => {
    const startedMs = clock.monotonic();
    try {
      sendAnswer(stream, await answer(stream, headers), log);
      metrics?.heartbeat('ok');
    } catch (error) {
      const failure = error instanceof GrpcError ? error : brokenCall(stream, error, log);
      metrics?.heartbeat(OUTCOMES.get(failure.status) ?? 'unavailable');
      sendStatus(stream, failure);
      if (stream.session && failure.status !== GrpcStatus.unavailable) {
        connections.refused(stream.session);
      }
    } finally {
      metrics?.observe('heartbeat_seconds', {}, (clock.monotonic() - startedMs) / 1000);
    }
  };
  return (stream, headers) => {
    // A peer that goes away is no news; what it lost it will send again.
    stream.on('error', (error) => log.debug({ err: error.message }, 'call broken off'));
    // Until the peer took the answer, which it may be as slow to do as to send the call.
    const limit = clock.setTimeout(() => cutOff(stream), limits.callMs);
    stream.once('close', () => clock.clearTimeout(limit));
    // A stream may end between any look at it and the next write, which then throws.
    take(stream, headers).catch((error: unknown) =>
      log.debug({ err: error }, 'call could not be answered'),
    );
  };
}

type Answer = (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => Promise<Uint8Array>;

function createAnswer({ service, limits, isOpen, connections }: CallHandlerOptions): Answer {
  const keys = createKeyCache();
  return async (stream, headers) => {
    if (!isOpen()) throw new GrpcError(GrpcStatus.unavailable, 'try again later');
    assertIsHeartbeat(headers);
    const { session } = stream;
    const address = session?.destroyed ? undefined : session?.socket.remoteAddress;
    if (!session || !address) throw new GrpcError(GrpcStatus.unavailable, 'the peer is gone');
    const publicKey = keys(session);
    // The answer of a refused call must still go out, so the stream is not to be destroyed.
    const chunks = () => stream.iterator({ destroyOnReturn: false }) as AsyncIterable<Uint8Array>;
    const body = (take: (bytes: number) => boolean) =>
      readFrame(chunks(), limits.messageBytes, take);
    const network = networkOf(address);
    const answer = await service({ body, publicKey, network, connection: session });
    connections.accepted(session);
    return answer;
  };
}

const OUTCOMES = new Map<number, Parameters<Metrics['heartbeat']>[0]>([
  [GrpcStatus.unauthenticated, 'unauthenticated'],
  [GrpcStatus.invalidArgument, 'invalid'],
  [GrpcStatus.internal, 'invalid'],
  [GrpcStatus.unimplemented, 'invalid'],
  [GrpcStatus.resourceExhausted, 'limited'],
]);

/** Checking a certificate costs a signature, so it is done once for each connection. */
function createKeyCache(): (session: Http2Session) => Uint8Array {
  const keys = new WeakMap<Http2Session, Uint8Array>();
  return (session) => {
    const key = keys.get(session) ?? readClientKey(session);
    keys.set(session, key);
    return key;
  };
}

function assertIsHeartbeat(headers: IncomingHttpHeaders): void {
  const isCall =
    headers[':method'] === 'POST' &&
    /^application\/grpc(?:\+proto)?(?:;|$)/.test(headers['content-type'] ?? '') &&
    headers[':path'] === HEARTBEAT_PATH;
  if (!isCall) throw new GrpcError(GrpcStatus.unimplemented, 'no such method');
  if ((headers['grpc-encoding'] ?? 'identity') !== 'identity') {
    throw new GrpcError(GrpcStatus.unimplemented, 'compressed messages are not read');
  }
}

/** Takes no answer any more: closed is not yet destroyed, and every write to it throws. */
const isOver = (stream: ServerHttp2Stream): boolean =>
  stream.closed || stream.destroyed || stream.headersSent;

function cutOff(stream: ServerHttp2Stream): void {
  if (!stream.closed) stream.close(constants.NGHTTP2_CANCEL);
}

function brokenCall(stream: ServerHttp2Stream, error: unknown, log: Log): GrpcError {
  if (!isOver(stream)) log.error({ err: error }, 'heartbeat call failed');
  return new GrpcError(GrpcStatus.unavailable, 'try again later', { cause: error });
}

const HEAD = {
  ':status': 200,
  'content-type': GRPC_CONTENT_TYPE,
  'grpc-accept-encoding': 'identity',
};

function sendAnswer(stream: ServerHttp2Stream, message: Uint8Array, log: Log): void {
  if (isOver(stream)) return;
  stream.on('wantTrailers', () => {
    try {
      stream.sendTrailers(statusTrailers(GrpcStatus.ok));
    } catch (error) {
      log.debug({ err: error }, 'call ended before its status');
    }
  });
  stream.respond(HEAD, { waitForTrailers: true });
  stream.end(writeFrame(message));
}

/** Headers and status in one, as gRPC does for calls without an answer. */
function sendStatus(stream: ServerHttp2Stream, { status, message }: GrpcError): void {
  if (isOver(stream)) return;
  stream.respond({ ...HEAD, ...statusTrailers(status, message) }, { endStream: true });
  // What the caller still sends is not wanted; NO_ERROR tells it that the status stands.
  if (!stream.readableEnded) stream.close(constants.NGHTTP2_NO_ERROR);
}
