import { once } from 'node:events';
import { connect as connectTcp } from 'node:net';
import { connect as connectTls } from 'node:tls';

/**
 * A client of unary calls that costs its processor half of what `node:http2` does, so that it is the
 * server which is measured. It speaks HTTP/2 over TLS 1.3 as an agent does on a connection that it
 * keeps: what the first request said in its headers is referred to by the next ones.
 */
export interface LeanCaller {
  /**
   * One call with a message that has its prefix. Rejects when the answer has no message, which only
   * calls that end OK have, and when the connection ends.
   */
  call(frame: Uint8Array): Promise<void>;
  close(): void;
}

export interface LeanCallerOptions {
  readonly port: number;
  readonly path: string;
  /** `ca` is what the server's certificate chains to; all PEM. Null: in the clear. */
  readonly tls: { readonly ca: string; readonly key: string; readonly cert: string } | null;
}

interface Call {
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
  hasMessage: boolean;
}

const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
const TYPE = { data: 0, headers: 1, reset: 3, settings: 4, windowUpdate: 8 };
const END_STREAM = 0x1;
const END_HEADERS = 0x4;
const ACK = 0x1;
const HEAD_BYTES = 9;
/** How much the server may send before it needs leave again: more than any measurement takes. */
const WINDOW = Buffer.from([0x7f, 0, 0, 0]);

export async function openLeanCaller({ port, path, tls }: LeanCallerOptions): Promise<LeanCaller> {
  const calls = new Map<number, Call>();
  const target = { host: '127.0.0.1', port };
  const socket = tls
    ? connectTls({ ...target, ...tls, minVersion: 'TLSv1.3', ALPNProtocols: ['h2'] })
    : connectTcp(target);
  socket.setNoDelay(true);
  await once(socket, tls ? 'secureConnect' : 'connect');
  const end = (stream: number, error?: Error) => {
    const call = calls.get(stream);
    calls.delete(stream);
    if (call?.hasMessage && !error) call.resolve();
    else call?.reject(error ?? new Error('a call ended without an answer'));
  };
  const endAll = (error: Error) => [...calls.keys()].forEach((stream) => end(stream, error));
  const hear = ({ type, flags, stream, bytes }: Frame) => {
    if (type === TYPE.settings && (flags & ACK) === 0) socket.write(frameOf(TYPE.settings, ACK, 0));
    else if (type === TYPE.reset) end(stream, new Error('a call was cut off'));
    else if (type === TYPE.data || type === TYPE.headers) {
      const call = calls.get(stream);
      if (call && type === TYPE.data && bytes > 0) call.hasMessage = true;
      if ((flags & END_STREAM) !== 0) end(stream);
    }
  };
  socket.on('data', frameReader(hear));
  socket.on('error', endAll);
  socket.on('close', () => endAll(new Error('the connection ended')));
  socket.write(
    Buffer.concat([
      PREFACE,
      frameOf(TYPE.settings, 0, 0),
      frameOf(TYPE.windowUpdate, 0, 0, WINDOW),
    ]),
  );
  let last = -1;
  return {
    call: (frame) =>
      new Promise((resolve, reject) => {
        const stream = (last += 2);
        calls.set(stream, { resolve, reject, hasMessage: false });
        const headers = stream === 1 ? firstHeaders(path) : LATER_HEADERS;
        socket.write(
          Buffer.concat([
            frameOf(TYPE.headers, END_HEADERS, stream, headers),
            frameOf(TYPE.data, END_STREAM, stream, frame),
          ]),
        );
      }),
    close: () => socket.destroy(),
  };
}

function frameOf(
  type: number,
  flags: number,
  stream: number,
  content: Uint8Array = new Uint8Array(0),
): Buffer {
  const frame = Buffer.allocUnsafe(HEAD_BYTES + content.length);
  frame.writeUIntBE(content.length, 0, 3);
  frame[3] = type;
  frame[4] = flags;
  frame.writeUInt32BE(stream, 5);
  frame.set(content, HEAD_BYTES);
  return frame;
}

interface Frame {
  readonly type: number;
  readonly flags: number;
  readonly stream: number;
  /** Length of its content. */
  readonly bytes: number;
}

/** Calls `each` for every whole frame. */
function frameReader(each: (frame: Frame) => void): (chunk: Buffer) => void {
  let rest: Buffer | undefined;
  return (chunk) => {
    const all = rest ? Buffer.concat([rest, chunk]) : chunk;
    let at = 0;
    while (at + HEAD_BYTES <= all.length) {
      const bytes = all.readUIntBE(at, 3);
      if (at + HEAD_BYTES + bytes > all.length) break;
      each({ type: all[at + 3]!, flags: all[at + 4]!, stream: all.readUInt32BE(at + 5), bytes });
      at += HEAD_BYTES + bytes;
    }
    rest = at < all.length ? all.subarray(at) : undefined;
  };
}

const STATIC = { authority: 1, post: 3, path: 4, https: 7, contentType: 31 };
/** Of the headers that the first request has remembered, the last one comes first. */
const REMEMBERED = 62;
const referred = (...indices: readonly number[]) => indices.map((index) => 0x80 | index);

/** All but the method is remembered for the next request (HPACK, RFC 7541, 6.2.1). */
const firstHeaders = (path: string): Buffer =>
  Buffer.concat([
    Buffer.from(referred(STATIC.post, STATIC.https)),
    Buffer.from([0x40 | STATIC.path]),
    text(path),
    Buffer.from([0x40 | STATIC.authority]),
    text('127.0.0.1'),
    Buffer.from([0x40 | STATIC.contentType]),
    text('application/grpc+proto'),
    Buffer.from([0x40]),
    text('te'),
    text('trailers'),
  ]);

const LATER_HEADERS = Buffer.from(
  referred(STATIC.post, STATIC.https, REMEMBERED + 3, REMEMBERED + 2, REMEMBERED + 1, REMEMBERED),
);

/** A text of less than 127 bytes, not Huffman coded. */
const text = (value: string): Buffer =>
  Buffer.concat([Buffer.from([value.length]), Buffer.from(value)]);
