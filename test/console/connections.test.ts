import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { join } from 'node:path';
import { connect, type Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { limitsFor } from '../../src/console/connections.ts';
import { generateRawKeyPair } from '../../src/agent/keys.ts';
import { createClients } from '../adapters/agents/test-server.ts';
import { createSimulatedClock } from '../doubles/simulated-clock.ts';
import { openConsole } from './api/console-stand.ts';

/** A connection without data. */
async function stranger(url: string, localAddress = '127.0.0.1'): Promise<Socket> {
  const { hostname: host, port } = new URL(url);
  const socket = connect({ host, port: Number(port), localAddress });
  onTestFinished(() => void socket.destroy());
  socket.on('error', () => undefined).resume();
  await Promise.race([once(socket, 'connect'), once(socket, 'close')]);
  return socket;
}
const closed = async (socket: Socket) => socket.closed || once(socket, 'close');
const status = async (url: string) => (await fetch(`${url}readyz`)).status;

test('limits the places of a crowd of strangers from one address, and keeps those of other addresses', async () => {
  const { url } = await openConsole({
    connectionLimits: { strangersMax: 6, strangersPerAddress: 3 },
  });
  const crowd = [];
  for (let n = 0; n < 9; n++) crowd.push(await stranger(url, '127.0.0.2'));
  await Promise.all(crowd.slice(3).map(closed));
  expect(crowd.slice(0, 3).map((socket) => socket.closed)).toEqual([false, false, false]);
  expect(await status(url)).toBe(200);
});

test('counts a connection as a stranger until one of its requests is admitted', async () => {
  const { url } = await openConsole({ connectionLimits: { strangersPerAddress: 1 } });
  const known = await stranger(url);
  known.write('GET /api/v1/version HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n');
  const [answer] = (await once(known, 'data')) as [Buffer];
  expect(answer.toString()).toMatch(/^HTTP\/1\.1 200 /);
  const waiting = await stranger(url);
  await closed(await stranger(url));
  expect([known.closed, waiting.closed]).toEqual([false, false]);
});

test('ends a connection without an admitted request after a while', async () => {
  const clock = createSimulatedClock();
  const { url } = await openConsole({ clock, connectionLimits: { strangerMs: 5_000 } });
  const known = await stranger(url);
  known.write('GET /api/v1/version HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n');
  await once(known, 'data');
  const [open, refused] = [await stranger(url), await stranger(url)];
  refused.write('GET /api/v1/version HTTP/1.1\r\nHost: evil.example\r\n\r\n');
  await once(refused, 'data');
  clock.increment(5_000);
  await Promise.all([open, refused].map(closed));
  expect(known.closed).toBe(false);
});

test('limits connections to a quarter of the descriptors, strangers to half of those', () => {
  const few = { connectionsMax: 50, strangersMax: 25, strangersPerAddress: 13 };
  expect(limitsFor(200, false)).toMatchObject(few);
  expect(limitsFor(200, true)).toMatchObject({ ...few, strangersPerAddress: 25 });
  expect(limitsFor(null, false)).toMatchObject({ connectionsMax: 1_000, strangersMax: 400 });
});

test('E6: loses no heartbeat to 600 strangers at a console with 200 descriptors', async () => {
  const [machine, key] = [randomUUID(), generateRawKeyPair()];
  const script = join(import.meta.dirname, 'few-descriptors.ts');
  const args = [process.execPath, script, machine, Buffer.from(key.publicKey).toString('hex')];
  const daemon = spawn('/bin/sh', ['-c', 'ulimit -n 200; exec "$@"', 'sh', ...args], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  onTestFinished(() => void daemon.kill());
  const told = async () => String(((await once(daemon.stdout, 'data')) as [Buffer])[0]);
  const { url, address, trust } = JSON.parse(await told()) as Record<string, string>;
  const crowd = Array.from({ length: 600 }, (_, n) => stranger(url!, `127.0.0.${2 + (n % 6)}`));
  await Promise.allSettled(crowd);
  for (let beat = 0; beat < 20; beat++) {
    // Each on a new connection.
    const clients = createClients(address!, trust!);
    const client = await clients.of(key);
    await client.heartbeat({ machineId: machine }, AbortSignal.timeout(240_000));
    clients.close();
  }
  daemon.stdin.write('?');
  expect(await told()).toBe('20\n');
  expect(await status(url!)).toBe(200);
});
