import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import type { AddressInfo, Server, Socket } from 'node:net';
import { Subject } from 'rxjs';
import type { Subscription } from 'rxjs';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { createWakes } from '../../../../src/adapters/bmdb/pg/wakes.ts';
import type { Wake } from '../../../../src/adapters/bmdb/port.ts';
import { silentLog } from '../../../../src/adapters/log/port.ts';
import {
  advance,
  createSimulatedClock,
  settled,
  type VirtualClock,
} from '../../../doubles/simulated-clock.ts';
import { startPgServer } from './pg-harness.ts';
import type { PgServer } from './pg-harness.ts';
import { PATIENCE } from '../../../support/patience.ts';

let server: PgServer;
beforeAll(async () => {
  server = await startPgServer();
});
afterAll(() => server.stop());

/** Between us and the server: what it loses is gone, and neither side is told. */
let proxy: Server;
let loses: (data: Buffer) => boolean;
let connections: number;
let failures: number;
let clock: VirtualClock;
let heard: Wake[];
let subscription: Subscription;

const join = (client: Socket) => {
  connections += 1;
  const to = new URL(server.url);
  const upstream = connect(Number(to.port), to.hostname);
  for (const [from, into] of [
    [client, upstream],
    [upstream, client],
  ] as const) {
    from.on('error', () => into.destroy());
    from.on('close', () => into.destroy());
    from.on('data', (data) => loses(data) || into.write(data));
  }
};
beforeEach(async () => {
  [loses, connections, failures, heard] = [() => false, 0, 0, []];
  proxy = createServer(join).listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  const url = new URL(server.url);
  url.port = String((proxy.address() as AddressInfo).port);
  clock = createSimulatedClock();
  const wakes$ = createWakes({
    url: url.href,
    mode: 'listen',
    clock,
    random: { next: () => 0.5, uuid: () => 'unused' },
    log: { ...silentLog, debug: () => (failures += 1) },
    timeoutMs: 300,
    stopped$: new Subject(),
  });
  subscription = wakes$.subscribe((wake) => heard.push(wake));
});
afterEach(async () => {
  subscription.unsubscribe();
  await settled();
  expect(clock.pending, 'timers left').toBe(0);
  await vi.waitUntil(async () => (await listening()) === 0, PATIENCE);
  proxy.close();
  await once(proxy, 'close');
});

const listening = async () => {
  const { rowCount } = await server.sql.query(
    `SELECT 1 FROM pg_stat_activity WHERE application_name = 'shepherd wakes' AND datname = current_database()`,
  );
  return rowCount;
};
const notify = () => server.sql.query(`SELECT pg_notify('shepherd_wake', '')`);
/** Virtual time passes until it is so; answers come in real time. */
const meanwhile = (isSo: () => boolean) =>
  vi.waitUntil(async () => {
    await advance(clock, 1_000);
    return isSo();
  }, PATIENCE);

describe('wakes', () => {
  it('come again after the connection died without a word', async () => {
    await vi.waitUntil(() => heard.length === 1, PATIENCE);
    loses = () => true;
    await notify();
    await meanwhile(() => failures > 0);
    loses = () => false;
    await meanwhile(() => heard.includes('reconnected'));
    expect(heard).toEqual(['changed', 'reconnected']);
    expect(await listening()).toBe(1);
    await notify();
    await vi.waitUntil(() => heard.length === 3, PATIENCE);
  });

  it('come though the first connection was never answered when it asked for them', async () => {
    loses = (data) => data.includes('LISTEN');
    await meanwhile(() => failures > 0);
    loses = () => false;
    await meanwhile(() => heard.length > 0);
    expect(connections).toBeGreaterThan(1);
  });

  it('stay on one connection as long as it answers', async () => {
    await vi.waitUntil(() => heard.length === 1, PATIENCE);
    let asked = 0;
    loses = (data) => (data.includes('LISTEN shepherd_wake') && (asked += 1), false);
    await meanwhile(() => asked > 3);
    expect([connections, failures, heard]).toEqual([1, 0, ['changed']]);
  });
});
