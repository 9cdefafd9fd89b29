import { once } from 'node:events';
import { Agent, get } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { takeFreePort } from '../../../src/adapters/network/free-port.ts';
import type { ServedRequest } from '../../../emulators/hosts/options.ts';
import { createStand, type HostsStand } from './stand.ts';

let stand: HostsStand;
let port: number;
beforeEach(async () => {
  stand = await createStand();
  port = await takeFreePort(new Set());
  await stand.replace({ serving: { port }, light: true });
});
afterEach(() => stand.close());

/** Switched on, like by its provider. */
async function raise(id: string): Promise<string> {
  const { address } = await stand.assign(id);
  await stand.hosts().up(id);
  return address;
}

interface Said {
  readonly machine: string;
  readonly bootId: string;
}
/** One request on its own connection, or on the agent's. */
async function ask(host: string, agent?: Agent): Promise<Said> {
  const request = get({ host, port, agent: agent ?? false });
  const [response] = await once(request, 'response');
  return JSON.parse(await text(response)) as Said;
}

test('serves machines at one port, each at its own address', async () => {
  const [a, b] = [await raise('a'), await raise('b')];
  expect(a).toMatch(/^127\.(6[4-9]|[7-9]\d|1[01]\d|12[0-7])\./);
  expect(b).not.toBe(a);
  expect(await ask(a)).toEqual({ machine: 'host-a', bootId: stand.snapshot('a').bootId });
  expect(await ask(b)).toMatchObject({ machine: 'host-b' });
  expect(stand.snapshot('a')).toMatchObject({ address: a, service: { requests: 1, cut: 0 } });
});

test('counts a silent check as no request and no connection', async () => {
  const socket = connect({ host: await raise('a'), port });
  await once(socket, 'connect');
  socket.end();
  await once(socket, 'close');
  expect(stand.snapshot('a').service).toEqual({ requests: 0, open: 0, cut: 0 });
});

test('a reboot cuts connections in use, and the service returns with the boot', async () => {
  const address = await raise('a');
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const first = await ask(address, agent);
  const [socket] = Object.values(agent.freeSockets).flat();
  expect(stand.snapshot('a').service).toMatchObject({ open: 1, cut: 0 });
  const broken = new Promise((resolve) => socket!.once('close', resolve));
  await stand.hosts().down('a');
  await broken;
  expect(stand.snapshot('a').service).toEqual({ requests: 1, open: 0, cut: 1 });
  await expect(ask(address)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  await stand.hosts().up('a');
  expect((await ask(address)).bootId).not.toBe(first.bootId);
  agent.destroy();
});

test('accepts requests while hanging, and answers them when it continues', async () => {
  const [address, other] = [await raise('a'), await raise('b')];
  await stand.hosts().hang('a', true);
  let isAnswered = false;
  const answer = ask(address).finally(() => (isAnswered = true));
  // A machine that does not hang has answered a few by then.
  for (let asked = 0; asked < 5; asked += 1) await ask(other);
  expect(isAnswered).toBe(false);
  expect(stand.snapshot('a').service?.requests).toBe(0);
  await stand.hosts().hang('a', false);
  expect(await answer).toMatchObject({ machine: 'host-a' });
});

test('reports each request with its machine', async () => {
  const [a, b] = [await raise('a'), await raise('b')];
  const seen: ServedRequest[] = [];
  const end = stand.hosts().watchRequests((request) => seen.push(request));
  const beganMs = Date.now();
  for (const address of [b, a, b]) await ask(address);
  end();
  await ask(a);
  expect(seen.map(({ deviceId }) => deviceId)).toEqual(['b', 'a', 'b']);
  expect(seen.every(({ atMs }) => atMs >= beganMs && atMs <= Date.now())).toBe(true);
});

test('gives a machine an address when it begins to serve, and keeps it', async () => {
  await stand.replace({ light: true });
  expect(await raise('a')).toBe('127.0.0.1');
  expect(stand.snapshot('a').service).toBeNull();
  const addresses: string[] = [];
  for (const _ of [1, 2]) {
    await stand.replace({ serving: { port }, light: true });
    addresses.push(await raise('a'));
    await stand.hosts().refuseSsh('a', true);
    expect(await ask(addresses[0]!), 'SSH is another thing').toMatchObject({ machine: 'host-a' });
  }
  expect(addresses).toEqual([addresses[0], addresses[0]]);
  expect(addresses).not.toContain('127.0.0.1');
});
