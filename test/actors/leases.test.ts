import { beforeEach, expect, test, vi } from 'vitest';
import { createLeases, provisionerJob, type Leases } from '../../src/actors/leases.ts';
import { createSessionKeeper, type SessionKeeper } from '../../src/actors/session-keeper.ts';
import { createMemBmdb, type MemBmdb } from '../doubles/mem-bmdb/mem-bmdb.ts';
import {
  advance,
  createSeededRandom,
  createSimulatedClock,
  settled,
  type VirtualClock,
} from '../doubles/simulated-clock.ts';
import { Unreachable } from '../../src/domain/errors.ts';
import type { SessionId } from '../../src/domain/ids.ts';
import { DEFAULT_BUDGET, DEFAULT_LOSS } from '../../src/domain/policy.ts';
import { PROVIDER } from '../support/facts.ts';
import { recordingLog, type RecordingLog } from '../doubles/recording-log.ts';
import { runService } from '../support/run-service.ts';

const JOB = provisionerJob(PROVIDER);
const forever = new AbortController().signal;
let clock: VirtualClock;
let bmdb: MemBmdb;
beforeEach(() => {
  clock = createSimulatedClock();
  const random = createSeededRandom(1);
  bmdb = createMemBmdb({ clock, random, loss: DEFAULT_LOSS, budget: DEFAULT_BUDGET });
});

let log: RecordingLog;
async function daemon(
  holderOf: (job: string) => SessionId | null = () => null,
): Promise<{ keeper: SessionKeeper; leases: Leases }> {
  log = recordingLog();
  const keeper = createSessionKeeper({ bmdb, log, component: 'shepherd', runtimeInfo: 'test' });
  await runService(keeper.services.openSession, { intervalMs: 3_600_000 }).result;
  const random = createSeededRandom(2);
  const leases = createLeases({ keeper, holderOf, clock, random, log, retryMs: 3_000 });
  return { keeper, leases };
}

test('gives a job to one daemon, and to the other within seconds of its release', async () => {
  const [one, two] = [await daemon(), await daemon()];
  await one.leases.take(JOB, forever);
  let taken = false;
  const waiting = two.leases.take(JOB, forever).then(() => (taken = true));
  await advance(clock, 60_000);
  expect([taken, one.leases.held(JOB) !== null, two.leases.held(JOB)]).toEqual([false, true, null]);
  await one.leases.releaseAll();
  expect(one.leases.held(JOB)).toBeNull();
  await advance(clock, 3_600);
  await waiting;
  expect(two.leases.held(JOB)).not.toBeNull();
});

test('asks nobody while the rows name the holder, and asks again when they do not', async () => {
  let holder: SessionId | null = null;
  const { keeper, leases } = await daemon(() => holder);
  const { epoch } = await leases.take(JOB, forever);
  const asked = vi.spyOn(keeper.require(), 'lease');
  await leases.take(JOB, forever);
  expect(asked).toHaveBeenCalledTimes(1);
  holder = keeper.require().sessionId;
  expect((await leases.take(JOB, forever)).epoch).toBe(epoch);
  expect(asked).toHaveBeenCalledTimes(1);
  holder = 'somebody else' as SessionId;
  await leases.take(JOB, forever);
  expect(asked).toHaveBeenCalledTimes(2);
});

test('ends with the session, like the wait for it', async () => {
  const [one, two] = [await daemon(), await daemon()];
  await one.leases.take(JOB, forever);
  const waiting = two.leases.take(JOB, forever);
  const refused = expect(waiting).rejects.toMatchObject({ code: 'session-expired' });
  await settled();
  await two.keeper.close();
  await refused;
  await one.keeper.close();
  expect(one.leases.held(JOB)).toBeNull();
  await one.leases.releaseAll();
  expect(clock.pending).toBe(0);
});

test('asks for another daemon’s job about every three seconds', async () => {
  const [one, two] = [await daemon(), await daemon()];
  await one.leases.take(JOB, forever);
  const asked: number[] = [];
  two.keeper.require().lease = async () => (asked.push(clock.monotonic()), null);
  const leaving = new AbortController();
  const waiting = two.leases.take(JOB, leaving.signal);
  const left = expect(waiting).rejects.toBeDefined();
  await advance(clock, 60_000);
  leaving.abort();
  await left;
  const gaps = asked.slice(1).map((ms, at) => ms - asked[at]!);
  expect(gaps.length).toBeGreaterThan(15);
  expect(Math.min(...gaps)).toBeGreaterThanOrEqual(2_400);
  expect(Math.max(...gaps)).toBeLessThanOrEqual(3_601);
  expect(new Set(gaps).size, 'daemons do not ask in step').toBeGreaterThan(5);
});

test('loses a job that another daemon has, although its session lives', async () => {
  const { keeper, leases } = await daemon();
  await leases.take(JOB, forever);
  keeper.require().lease = async () => null;
  const leaving = new AbortController();
  const waiting = leases.take(JOB, leaving.signal);
  const left = expect(waiting).rejects.toBeDefined();
  await settled();
  expect(leases.held(JOB)).toBeNull();
  leaving.abort();
  await left;
});

test('reports a job that cannot be released and goes on; a dead session keeps none', async () => {
  const [one, two] = [await daemon(), await daemon()];
  const [stuck, other] = [provisionerJob(PROVIDER), 'provisioner/other'];
  const lease = await two.leases.take(stuck, forever);
  await two.leases.take(other, forever);
  lease.release = () => Promise.reject(new Unreachable('no database'));
  await two.leases.releaseAll();
  expect(log.count('a job could not be released; it becomes free when the session ends')).toBe(1);
  await one.leases.take(other, forever);
  expect([one.leases.held(other) !== null, two.leases.held(stuck)]).toEqual([true, null]);
  const kept = one.leases.held(other)!;
  let released = 0;
  kept.release = async () => void (released += 1);
  await one.keeper.close();
  await one.leases.releaseAll();
  expect(released, 'it went with its session').toBe(0);
});
