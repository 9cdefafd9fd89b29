import { createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';

const KEXINIT = 20;
const GEX_GROUP = 31;
const GEX_REQUEST = 34;

/** 2^4423 - 1, a prime. To find out that it is one takes many seconds. */
const PRIME = Buffer.from(`7f${'ff'.repeat(552)}`, 'hex');

const field = (content: Buffer | string): Buffer => {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(Buffer.byteLength(content));
  return Buffer.concat([length, Buffer.from(content)]);
};

/** A packet without encryption (RFC 4253 §6). */
function packet(payload: Buffer): Buffer {
  const padding = 8 - ((payload.length + 5) % 8) + 8;
  const head = Buffer.alloc(5);
  head.writeUInt32BE(1 + payload.length + padding);
  head[4] = padding;
  return Buffer.concat([head, payload, Buffer.alloc(padding)]);
}

/** What a server offers that knows nothing but group exchange. */
const OFFER = Buffer.concat([
  Buffer.from([KEXINIT]),
  Buffer.alloc(16),
  field('diffie-hellman-group-exchange-sha256'),
  field('ssh-ed25519'),
  ...['aes128-ctr', 'aes128-ctr', 'hmac-sha2-256', 'hmac-sha2-256'].map(field),
  ...['none', 'none', '', ''].map(field),
  Buffer.alloc(5),
]);

/**
 * A machine, or who stands in its place, that offers group exchange alone (RFC 4419) and a prime
 * that is costly to check. `asked` counts who wanted it.
 */
export async function startGroupExchangeServer() {
  let asked = 0;
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
    socket.write('SSH-2.0-hostile\r\n');
    socket.write(packet(OFFER));
    onPackets(socket, (type) => {
      if (type !== GEX_REQUEST) return;
      asked += 1;
      const group = [Buffer.from([GEX_GROUP]), field(PRIME), field(Buffer.from([2]))];
      socket.write(packet(Buffer.concat(group)));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    target: { host: '127.0.0.1', port, username: 'root' },
    asked: () => asked,
    close: () =>
      new Promise<void>((resolve) => {
        for (const socket of sockets) socket.destroy();
        server.close(() => resolve());
      }),
  };
}

/** Tells the type of each packet after the line with the version. */
function onPackets(socket: Socket, listener: (type: number) => void): void {
  let read = Buffer.alloc(0);
  let greeted = false;
  socket.on('data', (chunk: Buffer) => {
    read = Buffer.concat([read, chunk]);
    const line = read.indexOf('\n');
    if (!greeted && line < 0) return;
    if (!greeted) read = read.subarray(line + 1);
    greeted = true;
    while (read.length >= 6 && read.length >= 4 + read.readUInt32BE(0)) {
      listener(read[5]!);
      read = read.subarray(4 + read.readUInt32BE(0));
    }
  });
}
