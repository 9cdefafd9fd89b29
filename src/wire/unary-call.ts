import { constants } from 'node:http2';
import type { ClientHttp2Session, ClientHttp2Stream } from 'node:http2';
import {
  GRPC_CONTENT_TYPE,
  GrpcError,
  GrpcStatus,
  readFrame,
  statusOf,
  writeFrame,
} from './grpc.ts';

/** A call of one message each way. */
export interface UnaryCall {
  /** Such as `/package.Service/Method`. */
  readonly path: string;
  /** Serialized request. */
  readonly body: Uint8Array;
  /** A longer answer is refused. */
  readonly answerBytesMax: number;
  readonly signal: AbortSignal;
}

/**
 * Request frame out, response frame in, status from headers or trailers. Answers the serialized
 * response. @throws {GrpcError} the call's status. Errors of the stream pass through.
 */
export async function callUnary(
  session: ClientHttp2Session,
  { path, body, answerBytesMax, signal }: UnaryCall,
): Promise<Uint8Array> {
  signal.throwIfAborted();
  const stream = session.request(
    {
      [constants.HTTP2_HEADER_METHOD]: 'POST',
      [constants.HTTP2_HEADER_PATH]: path,
      [constants.HTTP2_HEADER_CONTENT_TYPE]: GRPC_CONTENT_TYPE,
      te: 'trailers',
    },
    { signal },
  );
  const status = callStatus(stream);
  stream.end(writeFrame(body));
  const [message, ended] = await Promise.allSettled([
    readFrame(stream as AsyncIterable<Uint8Array>, answerBytesMax),
    status,
  ]);
  if (ended.status === 'rejected') throw ended.reason;
  if (message.status === 'rejected') throw message.reason;
  return message.value;
}

/** Settles when the stream closed: with the status that came last, or the error that broke it. */
function callStatus(stream: ClientHttp2Stream): Promise<void> {
  return new Promise((resolve, reject) => {
    let seen: GrpcError | 'ok' | undefined;
    stream.on('response', (headers) => (seen ??= statusOf(headers)));
    stream.on('trailers', (headers) => (seen = statusOf(headers) ?? seen));
    stream.on('error', reject);
    stream.on('close', () => {
      if (seen === 'ok') resolve();
      else reject(seen ?? new GrpcError(GrpcStatus.unavailable, 'the call ended without status'));
    });
  });
}
