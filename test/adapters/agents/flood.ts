/**
 * Loads a server with ten connections at full speed, from its own process: `flood.ts ADDRESS KIND`,
 * with the authority (PEM) on standard input. Runs until it is ended. The line `flooding` reports
 * the start.
 */
import { text } from 'node:stream/consumers';
import { randomUUID } from 'node:crypto';
import { connect as connectTcp } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { heartbeatRequestCodec } from '../../../src/wire/codec.ts';
import { writeFrame } from '../../../src/wire/grpc.ts';
import { ED25519, openRawClient, rawCall, selfSigned, type RawIdentity } from './raw-client.ts';
import {
  LAST_REMEMBERED,
  callHeaders,
  headers,
  openRawHttp2,
  ping,
  remembered,
  reset,
  settings,
} from './raw-http2.ts';

const CONNECTIONS = 10;
const [address = '', kind = ''] = process.argv.slice(2);
const [host = '', port = ''] = address.split(':');
const trust = await text(process.stdin);
const identity = await selfSigned(ED25519);

const odd = (index: number) => 2 * index + 1;
const ended = (emitter: NodeJS.EventEmitter) =>
  new Promise<void>((resolve) => {
    emitter.on('error', () => undefined);
    emitter.once('close', () => resolve());
  });

/** One handshake after another, each with a client certificate. */
async function handshake(): Promise<void> {
  const target = { host, port: Number(port), ca: [trust], ...identity, ALPNProtocols: ['h2'] };
  const socket = connectTls(target, () => socket.destroy());
  await ended(socket);
}

async function tcp(): Promise<void> {
  const socket = connectTcp({ host, port: Number(port) }, () => socket.write(Buffer.alloc(4_000)));
  socket.resume();
  await ended(socket);
}

/** Calls of an unknown agent, eight at a time, with this many additional body bytes. */
async function calls(who: RawIdentity, bytes: number): Promise<void> {
  const session = openRawClient({ address, trust, identity: who });
  const over = ended(session);
  const junk = { hardwareReport: { warning: ['x'.repeat(bytes)] } };
  const body = writeFrame(
    heartbeatRequestCodec.encode({ machineId: randomUUID(), ...(bytes > 0 ? junk : {}) }),
  );
  const lane = async () => {
    while (!session.destroyed && !session.closed) await rawCall(session, body);
  };
  await Promise.all(Array.from({ length: 8 }, () => lane().catch(() => undefined)));
  session.destroy();
  await over;
}

/** HTTP/2 by hand, in rounds of frames, until the server ends the connection. */
async function frames(round: (index: number) => readonly Uint8Array[]): Promise<void> {
  const peer = await openRawHttp2(address, trust, identity);
  for (let index = 0; !peer.socket.destroyed; index += 1) {
    await peer.send(...round(index));
    // A round that fails at once must not keep this process from seeing the end.
    await new Promise(setImmediate);
  }
}

const bomb = Buffer.concat([
  callHeaders,
  remembered('x-bomb', 'x'.repeat(3_900)),
  Buffer.alloc(8_000, LAST_REMEMBERED),
]);
const many = Array.from({ length: 100 }, (_, index) => index);

const KINDS: Readonly<Record<string, () => Promise<void>>> = {
  handshake,
  tcp,
  call: () => calls(identity, 0),
  report: () => calls(identity, 500_000),
  reset: () =>
    frames((round) =>
      many.flatMap((index) => {
        const stream = odd(round * 100 + index);
        return [headers(stream), reset(stream)];
      }),
    ),
  bomb: () => frames((round) => [headers(odd(round), bomb)]),
  ping: () => frames(() => many.map(() => ping)),
  settings: () => frames(() => many.map(() => settings)),
};

const once = KINDS[kind];
if (!once) throw new Error(`no such flood: ${kind}`);
let count = 0;
const lane = async () => {
  for (;;) {
    await once().catch(() => undefined);
    count += 1;
    await new Promise(setImmediate);
  }
};
console.log('flooding');
process.on('SIGTERM', () => {
  console.log(JSON.stringify({ kind, rounds: count }));
  process.exit(0);
});
await Promise.all(Array.from({ length: CONNECTIONS }, lane));
