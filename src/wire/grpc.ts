import { constants, type ClientHttp2Session, type ClientHttp2Stream } from 'node:http2';

/** The gRPC status codes used here. */
export const GrpcStatus = {
  ok: 0,
  cancelled: 1,
  unknown: 2,
  invalidArgument: 3,
  deadlineExceeded: 4,
  permissionDenied: 7,
  resourceExhausted: 8,
  unimplemented: 12,
  internal: 13,
  unavailable: 14,
  unauthenticated: 16,
} as const;

/** A call that ended with a status other than OK. */
export class GrpcError extends Error {
  override readonly name = 'GrpcError';
  readonly status: number;
  constructor(status: number, message: string, options?: ErrorOptions) {
    super(message, options);
    this.status = status;
  }
}

export const GRPC_CONTENT_TYPE = 'application/grpc+proto';
/** Compression flag and length before every message. */
const PREFIX_BYTES = 5;

/** One message with its prefix, uncompressed. */
export function writeFrame(message: Uint8Array): Buffer {
  const frame = Buffer.allocUnsafe(PREFIX_BYTES + message.length);
  frame[0] = 0;
  frame.writeUInt32BE(message.length, 1);
  frame.set(message, PREFIX_BYTES);
  return frame;
}

/** Joins the message of a unary call from its pieces. */
export type FrameReader = ReturnType<typeof createFrameReader>;

/** @param take is asked for space for each piece. */
export function createFrameReader(
  limitBytes: number,
  take: (bytes: number) => boolean = () => true,
) {
  const pieces: Uint8Array[] = [];
  let sizeBytes = 0;
  return {
    /**
     * @throws {GrpcError} RESOURCE_EXHAUSTED as soon as the limit is exceeded, or no space is left.
     */
    add(piece: Uint8Array): void {
      pieces.push(piece);
      sizeBytes += piece.length;
      if (sizeBytes > PREFIX_BYTES + limitBytes) throw tooLarge(limitBytes);
      if (!take(piece.length)) throw new GrpcError(GrpcStatus.resourceExhausted, 'try again later');
    },
    /**
     * Returns the message after all pieces.
     * @throws {GrpcError} RESOURCE_EXHAUSTED beyond the limit; INTERNAL if compressed without an
     * encoding header, or if there is no message, a truncated one, or more than one.
     */
    end: (): Uint8Array => unframe(Buffer.concat(pieces), limitBytes),
  };
}

/**
 * Reads the message of a unary call from a stream, to its end.
 * @throws {GrpcError} as {@link FrameReader} does. Errors of the stream pass through.
 */
export async function readFrame(
  stream: AsyncIterable<Uint8Array>,
  limitBytes: number,
): Promise<Uint8Array> {
  const frame = createFrameReader(limitBytes);
  for await (const piece of stream) frame.add(piece);
  return frame.end();
}

function unframe(body: Buffer, limitBytes: number): Uint8Array {
  if (body.length < PREFIX_BYTES) throw new GrpcError(GrpcStatus.internal, 'no message');
  // Compression with an encoding header was already refused there.
  if (body[0] !== 0) throw new GrpcError(GrpcStatus.internal, 'compressed without an encoding');
  const lengthBytes = body.readUInt32BE(1);
  if (lengthBytes > limitBytes) throw tooLarge(limitBytes);
  if (body.length !== PREFIX_BYTES + lengthBytes) {
    throw new GrpcError(GrpcStatus.internal, 'not exactly one complete message');
  }
  return body.subarray(PREFIX_BYTES);
}

const tooLarge = (limitBytes: number) =>
  new GrpcError(GrpcStatus.resourceExhausted, `message is larger than ${limitBytes} bytes`);

/** Trailers of a call that ended with this status. */
export const statusTrailers = (status: number, message = ''): Record<string, string> => ({
  'grpc-status': String(status),
  ...(message === '' ? {} : { 'grpc-message': percentEncode(message) }),
});

/**
 * The call's status from headers or trailers; undefined: they have none. Maps HTTP errors as the
 * gRPC protocol prescribes.
 */
export function statusOf(headers: Readonly<Record<string, unknown>>): GrpcError | 'ok' | undefined {
  const status = headers['grpc-status'];
  if (typeof status === 'string') {
    const code = /^\d{1,3}$/.test(status) ? Number(status) : GrpcStatus.unknown;
    if (code === GrpcStatus.ok) return 'ok';
    return new GrpcError(code, percentDecode(String(headers['grpc-message'] ?? '')));
  }
  const http = headers[':status'];
  if (typeof http !== 'number' || http === 200) return undefined;
  return new GrpcError(HTTP_STATUS[http] ?? GrpcStatus.unknown, `HTTP status ${http}`);
}

const HTTP_STATUS: Readonly<Record<number, number>> = {
  400: GrpcStatus.internal,
  401: GrpcStatus.unauthenticated,
  403: GrpcStatus.permissionDenied,
  404: GrpcStatus.unimplemented,
  429: GrpcStatus.unavailable,
  502: GrpcStatus.unavailable,
  503: GrpcStatus.unavailable,
  504: GrpcStatus.unavailable,
};

/** Percent-encodes `grpc-message`: UTF-8 with all but printable ASCII, and `%` itself, encoded. */
export function percentEncode(text: string): string {
  return Array.from(Buffer.from(text, 'utf8'), (byte) =>
    byte >= 0x20 && byte <= 0x7e && byte !== 0x25
      ? String.fromCharCode(byte)
      : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`,
  ).join('');
}

/** Undoes {@link percentEncode}; invalid parts stay unchanged. */
export function percentDecode(text: string): string {
  const parts = Array.from(text.matchAll(/%([0-9a-f]{2})|[^%]+|%/gi), ([part, hex]) =>
    hex === undefined ? Buffer.from(part, 'utf8') : Buffer.from(hex, 'hex'),
  );
  return Buffer.concat(parts).toString('utf8');
}

/** A call with one message in each direction. */
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
 * Sends the request frame and returns the serialized response; the status comes from headers or
 * trailers. @throws {GrpcError} the call's status. Errors of the stream pass through.
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

/** Settles when the stream closes: with the last status, or with the stream's error. */
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
