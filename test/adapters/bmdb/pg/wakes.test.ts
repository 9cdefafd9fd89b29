import { Subject } from 'rxjs';
import type { Subscription } from 'rxjs';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createWakes } from '../../../../src/adapters/bmdb/pg/wakes.ts';
import type { Wake } from '../../../../src/adapters/bmdb/port.ts';
import { silentLog } from '../../../../src/adapters/log/port.ts';
import {
  advance,
  createSimulatedClock,
  settled,
  type VirtualClock,
} from '../../../doubles/simulated-clock.ts';
import { PATIENT_MS, usePgServer } from './pg-harness.ts';
import { PATIENCE } from '../../../support/patience.ts';
import { startRelay, type Relay } from '../../../support/relay.ts';

const server = usePgServer();

/** Between client and server: lost bytes vanish, and neither side notices. */
let proxy: Relay;
let loses: (data: Buffer) => boolean;
let connections: number;
let failures: number;
let clock: VirtualClock;
let heard: Wake[];
let subscription: Subscription;

beforeEach(async () => {
  [loses, connections, failures, heard] = [() => false, 0, 0, []];
  proxy = await startRelay(server.url, (client, dial) => {
    connections += 1;
    const upstream = dial();
    client.on('data', (data) => loses(data) || upstream.write(data));
    upstream.on('data', (data) => loses(data) || client.write(data));
  });
  clock = createSimulatedClock();
});
/** @param timeoutMs for each answer. */
function listen(timeoutMs: number): void {
  const wakes$ = createWakes({
    url: proxy.url,
    mode: 'listen',
    clock,
    random: { next: () => 0.5, uuid: () => 'unused' },
    log: { ...silentLog, debug: () => (failures += 1) },
    timeoutMs,
    stopped$: new Subject(),
  });
  subscription = wakes$.subscribe((wake) => heard.push(wake));
}
/** A busy machine may exceed the limit, which looks like a dead connection. */
const SOON_MS = 300;
afterEach(async () => {
  subscription.unsubscribe();
  await settled();
  expect(clock.pending, 'timers left').toBe(0);
  await vi.waitUntil(async () => (await listening()) === 0, PATIENCE);
  await proxy.close();
});

const listening = async () => {
  const { rowCount } = await server.sql.query(
    `SELECT 1 FROM pg_stat_activity WHERE application_name = 'shepherd wakes' AND datname = current_database()`,
  );
  return rowCount;
};
const notify = () => server.sql.query(`SELECT pg_notify('shepherd_wake', '')`);
/** Virtual time passes until the condition holds. Answers come in real time. */
const meanwhile = (isSo: () => boolean) =>
  vi.waitUntil(async () => {
    await advance(clock, 1_000);
    return isSo();
  }, PATIENCE);

describe('wakes', () => {
  it('arrive again after the connection died silently', async () => {
    listen(SOON_MS);
    await meanwhile(() => heard.length > 0);
    loses = () => true;
    const before = failures;
    await notify();
    await meanwhile(() => failures > before);
    loses = () => false;
    await meanwhile(() => heard.includes('reconnected'));
    const changed = () => heard.filter((wake) => wake === 'changed').length;
    expect(changed()).toBe(1);
    await vi.waitUntil(async () => {
      await notify();
      await advance(clock, 1_000);
      return changed() > 1;
    }, PATIENCE);
  });

  it('arrive although the first connection never answered the LISTEN', async () => {
    loses = (data) => data.includes('LISTEN');
    listen(SOON_MS);
    await meanwhile(() => failures > 0);
    loses = () => false;
    await meanwhile(() => heard.length > 0);
    expect(connections).toBeGreaterThan(1);
  });

  it('stay on one connection while it answers', async () => {
    listen(PATIENT_MS);
    await vi.waitUntil(() => heard.length === 1, PATIENCE);
    let asked = 0;
    loses = (data) => (data.includes('LISTEN shepherd_wake') && (asked += 1), false);
    await meanwhile(() => asked > 3);
    expect([connections, failures, heard]).toEqual([1, 0, ['changed']]);
  });
});
