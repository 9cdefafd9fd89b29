import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { startTcpProxy, type TcpProxy } from './tcp-proxy.ts';

let server: Server;
let proxy: TcpProxy;
let served: Socket[];

beforeEach(async () => {
  served = [];
  server = createServer((socket) => {
    served.push(socket);
    socket.on('error', () => undefined);
    socket.on('data', (bytes) => socket.write(bytes));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  proxy = await startTcpProxy(() => (server.address() as AddressInfo).port);
});
afterEach(async () => {
  await proxy.close();
  server.close();
});

async function open(): Promise<Socket> {
  const socket = connect(proxy.port, '127.0.0.1').on('error', () => undefined);
  await once(socket, 'connect');
  return socket;
}
async function echo(socket: Socket, said: string): Promise<string> {
  const heard = once(socket, 'data') as Promise<[Buffer]>;
  socket.write(said);
  return (await heard)[0].toString();
}
const stillOpen = async (socket: Socket) =>
  !(await text(socket).then(
    () => true,
    () => true,
  ));

test('a cut breaks what is open and nothing else', async () => {
  const socket = await open();
  await echo(socket, 'hello');
  proxy.cut();
  expect(await stillOpen(socket)).toBe(false);
  expect(await echo(await open(), 'again')).toBe('again');
  expect(proxy.fired.cut).toBe(1);
});

test('what is held back comes late, in order, and so does the end', async () => {
  const socket = await open();
  await echo(socket, 'hello');
  proxy.hold();
  const ended = once(served[0]!, 'close');
  const heard = once(served[0]!, 'data') as Promise<[Buffer]>;
  socket.write('one ');
  socket.end('two');
  await once(socket, 'finish');
  const early = await Promise.race([heard, new Promise((then) => setTimeout(then, 50, 'nothing'))]);
  expect(early).toBe('nothing');
  proxy.release();
  expect((await heard)[0].toString()).toContain('one ');
  await ended;
  expect(proxy.fired.held).toBeGreaterThan(0);
});

test.each([
  ['before', 0, 'commitBefore'],
  ['during', 1, 'commitDuring'],
  ['after', 1, 'commitAfter'],
] as const)('a connection broken %s its COMMIT', async (when, reached, fault) => {
  const socket = await open();
  await echo(socket, 'BEGIN');
  proxy.breakNextCommit(when);
  let received = '';
  served[0]!.on('data', (bytes: Buffer) => (received += bytes.toString()));
  socket.write('COMMIT\0');
  expect(await stillOpen(socket)).toBe(false);
  await expect.poll(() => received.split('COMMIT').length - 1).toBe(reached);
  expect(proxy.fired[fault]).toBe(1);
});

test('a prepared statement that writes, outside of a transaction, is as good as a COMMIT', async () => {
  const socket = await open();
  const ready = 'Z\0\0\0\x05I';
  const parse = (name: string, text: string) => `P\0\0\0\x09${name}\0${text}\0`;
  const bind = (name: string) => `B\0\0\0\x09\0${name}\0`;
  await echo(socket, parse('write', 'INSERT INTO work'));
  await echo(socket, parse('read', 'SELECT 1'));
  proxy.breakNextCommit('before');
  await echo(socket, bind('write'));
  await echo(socket, ready);
  await echo(socket, bind('read') + ready);
  expect(proxy.fired.commitBefore).toBe(0);
  socket.write(bind('write'));
  expect(await stillOpen(socket)).toBe(false);
  expect(proxy.fired.commitBefore).toBe(1);
});

test('transactions that only read are left alone', async () => {
  const socket = await open();
  proxy.breakNextCommit('before');
  await echo(socket, 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
  expect(await echo(socket, 'COMMIT\0')).toBe('COMMIT\0');
  expect(proxy.fired.commitBefore).toBe(0);
  socket.destroy();
});
