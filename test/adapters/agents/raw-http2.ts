import { once } from 'node:events';
import { connect, type TLSSocket } from 'node:tls';
import { HEARTBEAT_PATH } from '../../../src/wire/codec.ts';
import type { RawIdentity } from './raw-client.ts';

/** HTTP/2 by hand: a peer that can break its rules. */
export interface RawHttp2 {
  readonly socket: TLSSocket;
  /** Writes frames. Resolves when the kernel has them or the connection is gone. */
  send(...frames: readonly Uint8Array[]): Promise<void>;
  /** Resolves when the server has ended the connection. */
  readonly closed: Promise<void>;
}

const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
const TYPE = { data: 0, headers: 1, reset: 3, settings: 4, ping: 6, goaway: 7, continuation: 9 };
export const END_STREAM = 0x1;
export const END_HEADERS = 0x4;

function frame(type: number, flags: number, stream: number, payload: Uint8Array): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

const text = (value: string): Buffer => {
  const bytes = Buffer.from(value);
  // A length with a seven-bit prefix, without Huffman coding. All lengths here fit in two bytes.
  const length =
    bytes.length < 127
      ? Buffer.from([bytes.length])
      : Buffer.from([127, ((bytes.length - 127) & 0x7f) | 0x80, (bytes.length - 127) >> 7]);
  return Buffer.concat([length, bytes]);
};

/** A header that the peer must not index. */
export const literal = (name: string, value: string): Buffer =>
  Buffer.concat([Buffer.from([0]), text(name), text(value)]);
/** A header that the peer must index. */
export const remembered = (name: string, value: string): Buffer =>
  Buffer.concat([Buffer.from([0x40]), text(name), text(value)]);
/** The header that was indexed last. */
export const LAST_REMEMBERED = 0x80 | 62;

export const callHeaders = Buffer.concat([
  literal(':method', 'POST'),
  literal(':scheme', 'https'),
  literal(':authority', 'x'),
  literal(':path', HEARTBEAT_PATH),
  literal('content-type', 'application/grpc'),
  literal('te', 'trailers'),
]);

export const headers = (stream: number, block: Uint8Array = callHeaders, flags = END_HEADERS) =>
  frame(TYPE.headers, flags, stream, block);
export const continuation = (stream: number, block: Uint8Array, flags = 0) =>
  frame(TYPE.continuation, flags, stream, block);
export const data = (stream: number, content: Uint8Array, flags = 0) =>
  frame(TYPE.data, flags, stream, content);
/** CANCEL. */
export const reset = (stream: number) => frame(TYPE.reset, 0, stream, Buffer.from([0, 0, 0, 8]));

export const ping = frame(TYPE.ping, 0, 0, Buffer.alloc(8));
/** NO_ERROR. */
export const goaway = frame(TYPE.goaway, 0, 0, Buffer.alloc(8));
export const settings = frame(TYPE.settings, 0, 0, Buffer.alloc(0));

/** A connection after its preface, which may be half open. Streams of a client are odd. */
export async function openRawHttp2(
  address: string,
  trust: string,
  identity: RawIdentity,
  { allowHalfOpen = false } = {},
): Promise<RawHttp2> {
  const [host, port] = address.split(':');
  const target = { host: host!, port: Number(port), allowHalfOpen };
  const socket = connect({ ...target, ca: [trust], ...identity, ALPNProtocols: ['h2'] });
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  await once(socket, 'secureConnect');
  socket.on('error', () => undefined);
  socket.resume();
  const send = (...frames: readonly Uint8Array[]) =>
    new Promise<void>((resolve) => {
      if (socket.destroyed) resolve();
      else socket.write(Buffer.concat(frames), () => resolve());
    });
  await send(PREFACE, settings);
  return { socket, send, closed };
}
