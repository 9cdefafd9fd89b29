import {
  constants,
  type Http2Session,
  type IncomingHttpHeaders,
  type ServerHttp2Stream,
} from 'node:http2';
import {
  GRPC_CONTENT_TYPE,
  GrpcError,
  GrpcStatus,
  createFrameReader,
  statusTrailers,
  writeFrame,
  type FrameReader,
} from '../../wire/grpc.ts';
import { HEARTBEAT_PATH } from '../../wire/codec.ts';
import { networkOf } from '../../lib/network.ts';
import type { Clock } from '../clock/port.ts';
import type { Log } from '../log/port.ts';
import type { HeartbeatEnd } from '../metrics/port.ts';
import type { Connections, AgentServerLimits } from './limits.ts';
import type { Caller, HeartbeatService } from './heartbeat-service.ts';
import type { X509Certificate } from 'node:crypto';
import { TLSSocket } from 'node:tls';

export interface CallHandlerOptions {
  readonly service: HeartbeatService;
  readonly clock: Clock;
  readonly log: Log;
  readonly limits: Pick<AgentServerLimits, 'messageBytes' | 'callMs'>;
  /** Called with the result of each call and its duration in seconds. */
  readonly onCall: ((end: HeartbeatEnd, seconds: number) => void) | undefined;
  /** While it returns false, calls end UNAVAILABLE unread. */
  readonly isOpen: () => boolean;
  /** Receives the results of a connection's calls. */
  readonly connections: Pick<Connections, 'accepted' | 'refused'>;
}

export function createCallHandler(options: CallHandlerOptions) {
  const { clock, log, limits, onCall, connections } = options;
  const answer = createAnswer(options);
  const underWay = createCallLimit(limits.callMs, clock);
  const handle = async (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => {
    const startedMs = clock.monotonic();
    let end: HeartbeatEnd = 'ok';
    try {
      sendAnswer(stream, await answer(stream, headers), log);
    } catch (error) {
      const failure = error instanceof GrpcError ? error : brokenCall(stream, error, log);
      end = OUTCOMES.get(failure.status) ?? 'unavailable';
      sendStatus(stream, failure);
      if (stream.session && failure.status !== GrpcStatus.unavailable) {
        connections.refused(stream.session);
      }
    } finally {
      onCall?.(end, (clock.monotonic() - startedMs) / 1_000);
    }
  };
  return {
    /** Handles one call from its headers to its status. Total: whatever the peer does is logged. */
    take(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): void {
      // A peer that disconnects is no error; it will send lost data again.
      stream.on('error', (error) => log.debug({ err: error.message }, 'call broken off'));
      // Counts until the peer has received the answer; a peer may receive as slowly as it sends.
      underWay.add(stream);
      // The stream may end between any check and the next write, which then throws.
      handle(stream, headers).catch((error: unknown) =>
        log.debug({ err: error }, 'a call could not be answered'),
      );
    },
    /** Resolves once no call is active. */
    idle: underWay.idle,
  };
}

/**
 * Tracks active calls and cuts off those that exceed the limit. All calls have the same limit, so
 * one timer for the oldest is enough.
 */
function createCallLimit(limitMs: number, clock: Clock) {
  const endsAtMs = new Map<ServerHttp2Stream, number>();
  const waiting: (() => void)[] = [];
  let timer: unknown;
  const cutOffLate = () => {
    timer = undefined;
    for (const [stream, endMs] of endsAtMs) {
      const leftMs = endMs - clock.monotonic();
      if (leftMs > 0) {
        timer = clock.setTimeout(cutOffLate, leftMs);
        return;
      }
      if (!stream.closed) stream.close(constants.NGHTTP2_CANCEL);
    }
  };
  return {
    add(stream: ServerHttp2Stream): void {
      timer ??= clock.setTimeout(cutOffLate, limitMs);
      endsAtMs.set(stream, clock.monotonic() + limitMs);
      stream.on('close', () => {
        endsAtMs.delete(stream);
        if (endsAtMs.size > 0) return;
        clock.clearTimeout(timer);
        timer = undefined;
        for (const resolve of waiting.splice(0)) resolve();
      });
    },
    idle: () =>
      new Promise<void>(
        (resolve) => void (endsAtMs.size === 0 ? resolve() : waiting.push(resolve)),
      ),
  };
}

type Answer = (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => Promise<Uint8Array>;

function createAnswer({ service, limits, isOpen, connections }: CallHandlerOptions): Answer {
  const callers = new WeakMap<Http2Session, Caller>();
  return async (stream, headers) => {
    if (!isOpen()) throw new GrpcError(GrpcStatus.unavailable, 'try again later');
    assertIsHeartbeat(headers);
    const { session } = stream;
    if (!session || session.destroyed) throw gone();
    // Checking a certificate costs a signature, so it happens once per connection.
    const known = callers.get(session);
    const caller = known ?? callerOf(session);
    if (!known) callers.set(session, caller);
    const body = (take: (bytes: number) => boolean) =>
      readBody(stream, createFrameReader(limits.messageBytes, take));
    const answer = await service({ caller, body });
    connections.accepted(session);
    return answer;
  };
}

const gone = () => new GrpcError(GrpcStatus.unavailable, 'the peer has disconnected');

/**
 * @throws {GrpcError} UNAUTHENTICATED: see {@link readClientKey}; UNAVAILABLE: the peer has gone.
 */
function callerOf(session: Http2Session): Caller {
  const { remoteAddress } = session.socket;
  if (!remoteAddress) throw gone();
  const publicKey = readClientKey(session);
  const key = Buffer.from(publicKey).toString('hex');
  return { publicKey, key, network: networkOf(remoteAddress) };
}

/** Stops reading at the limit, but keeps the stream, because the refusal must still be sent. */
function readBody(stream: ServerHttp2Stream, frame: FrameReader): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const fail = (error: unknown) => {
      stream.pause();
      reject(error);
    };
    stream.on('data', (piece: Buffer) => {
      try {
        frame.add(piece);
      } catch (error) {
        fail(error);
      }
    });
    stream.on('end', () => {
      try {
        resolve(frame.end());
      } catch (error) {
        fail(error);
      }
    });
    stream.on('close', () => {
      if (!stream.readableEnded) reject(new Error('the call ended before its message'));
    });
  });
}

const OUTCOMES = new Map<number, HeartbeatEnd>([
  [GrpcStatus.unauthenticated, 'unauthenticated'],
  [GrpcStatus.invalidArgument, 'invalid'],
  [GrpcStatus.internal, 'invalid'],
  [GrpcStatus.unimplemented, 'invalid'],
  [GrpcStatus.resourceExhausted, 'limited'],
]);

function assertIsHeartbeat(headers: IncomingHttpHeaders): void {
  const isCall =
    headers[':method'] === 'POST' &&
    /^application\/grpc(?:\+proto)?(?:;|$)/.test(headers['content-type'] ?? '') &&
    headers[':path'] === HEARTBEAT_PATH;
  if (!isCall) throw new GrpcError(GrpcStatus.unimplemented, 'no such method');
  if ((headers['grpc-encoding'] ?? 'identity') !== 'identity') {
    throw new GrpcError(GrpcStatus.unimplemented, 'compressed messages are not supported');
  }
}

/**
 * True if the stream accepts no answer any more. A closed stream is not yet destroyed, but throws
 * on every write.
 */
const isOver = (stream: ServerHttp2Stream): boolean =>
  stream.closed || stream.destroyed || stream.headersSent;

function brokenCall(stream: ServerHttp2Stream, error: unknown, log: Log): GrpcError {
  if (!isOver(stream)) log.error({ err: error }, 'heartbeat call failed');
  return new GrpcError(GrpcStatus.unavailable, 'try again later', { cause: error });
}

const HEAD = {
  ':status': 200,
  'content-type': GRPC_CONTENT_TYPE,
  'grpc-accept-encoding': 'identity',
};

const OK = statusTrailers(GrpcStatus.ok);

function sendAnswer(stream: ServerHttp2Stream, message: Uint8Array, log: Log): void {
  if (isOver(stream)) return;
  stream.on('wantTrailers', () => {
    try {
      stream.sendTrailers(OK);
    } catch (error) {
      log.debug({ err: error }, 'a call ended before its status was sent');
    }
  });
  stream.respond(HEAD, { waitForTrailers: true });
  stream.end(writeFrame(message));
}

/** Sends headers and status in one frame, as gRPC does for calls without an answer. */
function sendStatus(stream: ServerHttp2Stream, { status, message }: GrpcError): void {
  if (isOver(stream)) return;
  stream.respond({ ...HEAD, ...statusTrailers(status, message) }, { endStream: true });
  // The rest of the request is not wanted; NO_ERROR tells the caller that the status is valid.
  if (!stream.readableEnded) stream.close(constants.NGHTTP2_NO_ERROR);
}

/** The SPKI of an Ed25519 key ends with the raw key. */
const RAW_KEY_BYTES = 32;

const refuse = (message: string, cause?: unknown) =>
  new GrpcError(GrpcStatus.unauthenticated, message, { cause });

/**
 * Returns the raw Ed25519 key whose possession the TLS handshake has proved. No authority is
 * involved: the key alone identifies the peer.
 * @throws {GrpcError} UNAUTHENTICATED: no certificate, several, another key type, or not
 *   self-signed.
 */
export function readClientKey(session: Http2Session): Uint8Array {
  // The session returns its socket behind a proxy, which permits reads.
  const { socket } = session;
  if (!(socket instanceof TLSSocket)) throw refuse('TLS is required');
  const certificate = socket.getPeerX509Certificate();
  if (!certificate) throw refuse('a client certificate is required');
  try {
    return keyOf(certificate);
  } catch (error) {
    if (error instanceof GrpcError) throw error;
    // The library throws on key and signature types that it does not know.
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
