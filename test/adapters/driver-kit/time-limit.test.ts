import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createBudget, spentStarts } from '../../../src/adapters/driver-kit/call-classes.ts';
import { httpRefusal } from '../../../src/adapters/driver-kit/errors.ts';
import { inLifetime } from '../../../src/adapters/driver-kit/in-lifetime.ts';
import { retryAtOf } from '../../../src/adapters/driver-kit/outcome.ts';
import {
  createLocks,
  startTimeLimit,
  createLifetime,
} from '../../../src/adapters/driver-kit/time-limit.ts';
import { createTurns } from '../../../src/adapters/driver-kit/turns.ts';
import type { CallOptions, Provider } from '../../../src/adapters/provider/port.ts';
import { ProviderError } from '../../../src/domain/errors.ts';
import { callOf } from '../provider/driver-stand.ts';
import { createSimulatedClock, settled } from '../../doubles/simulated-clock.ts';
import { testRows } from '../../support/rows.ts';

const HOUR = 3_600_000;
const live = new AbortController().signal;
const RESETS = { startsMax: 45, withinMs: HOUR, keptForUrgent: 10 };

function spend(budget: ReturnType<typeof createBudget>, starts: number) {
  for (let n = 0; n < starts; n++) budget.take();
}

test('allows a number of starts per hour, and reserves the last ones for urgent calls', () => {
  const clock = createSimulatedClock();
  const budget = createBudget([RESETS], { clock });
  spend(budget, 35);
  expect(budget.waitMs(false)).toBe(HOUR);
  expect([budget.left(false), budget.left(true)]).toEqual([0, 10]);
  clock.increment(60_000);
  spend(budget, 10);
  expect(budget.waitMs(true)).toBe(HOUR - 60_000);
  clock.increment(HOUR - 60_000);
  expect([budget.waitMs(true), budget.left(false)]).toEqual([0, 25]);
});

test('divides a budget among daemons, and leaves no daemon without any', () => {
  const clock = createSimulatedClock();
  let daemons = 2;
  const budget = createBudget([RESETS], { clock, daemons: () => daemons });
  expect([budget.left(false), budget.left(true)]).toEqual([17, 22]);
  daemons = 100;
  expect([budget.left(false), budget.left(true)]).toEqual([1, 1]);
});

test('requires that all of several budgets have something left', () => {
  const clock = createSimulatedClock();
  const perMinute = { startsMax: 3, withinMs: 60_000 };
  const budget = createBudget([perMinute, { startsMax: 5, withinMs: HOUR }], { clock });
  spend(budget, 3);
  expect(budget.waitMs(false)).toBe(60_000);
  clock.increment(60_000);
  spend(budget, 2);
  expect(budget.waitMs(false)).toBe(HOUR - 60_000);
});

test('hetzner-robot vector 25: keeps the spent budget over a restart, and never too short', () => {
  const before = createSimulatedClock();
  const budget = createBudget([RESETS], { clock: before });
  spend(budget, 30);
  before.increment(1_234_567);
  spend(budget, 10);
  const kept = spentStarts.parse(JSON.parse(JSON.stringify(budget.spent())));
  expect(kept.length).toBeLessThanOrEqual(61);

  const after = createSimulatedClock(before.now() + 5_000);
  const restarted = createBudget([RESETS], { clock: after });
  restarted.recall(kept);
  restarted.recall(kept);
  expect(restarted.left(true)).toBe(5);
  after.increment(HOUR - 1_234_567 - 5_000);
  expect(restarted.left(true), 'not before they are an hour old').toBe(5);
  after.increment(60_000);
  expect(restarted.left(true)).toBe(35);
});

test('counts starts that a wrong clock put into the future as now', () => {
  const clock = createSimulatedClock();
  const budget = createBudget([RESETS], { clock });
  budget.recall([[clock.now() + 10 * HOUR, 45]]);
  expect(budget.waitMs(true)).toBe(HOUR);
});

test('never allows more starts in any stretch of time than the budget has', () => {
  const steps = fc.array(
    fc.record({ passMs: fc.integer({ min: 0, max: 40 }), urgent: fc.boolean() }),
  );
  fc.assert(
    fc.property(steps, fc.integer({ min: 1, max: 5 }), (passes, startsMax) => {
      const clock = createSimulatedClock();
      const budget = createBudget([{ startsMax, withinMs: 100, keptForUrgent: 2 }], { clock });
      const starts: number[] = [];
      for (const { passMs, urgent } of passes) {
        clock.increment(passMs);
        if (budget.waitMs(urgent) > 0) continue;
        budget.take();
        starts.push(clock.monotonic());
      }
      for (const fromMs of starts) {
        const within = starts.filter((atMs) => atMs >= fromMs && atMs < fromMs + 100);
        expect(within.length).toBeLessThanOrEqual(startsMax);
      }
    }),
  );
});

test('rejects impatient calls on an empty budget, and admits urgent ones', async () => {
  const clock = createSimulatedClock();
  const terms = { startsMax: 2, withinMs: HOUR, keptForUrgent: 1 };
  const budget = createBudget([terms], { clock });
  const turns = createTurns({ maxConcurrency: 9, gapMs: 0 }, { clock, budget });
  (await turns.take({ signal: live }))();
  const tooLong = new Error('too long');
  const impatient = { signal: live, onPause: () => tooLong };
  const patient = turns.take({ signal: live });
  await expect(turns.take(impatient)).rejects.toBe(tooLong);
  (await turns.take({ ...impatient, urgent: true }))();
  await expect(turns.take({ ...impatient, urgent: true })).rejects.toBe(tooLong);
  clock.increment(HOUR);
  (await patient)();
  expect(clock.pending, 'no timer is left').toBe(0);
});

const { signal } = new AbortController();

/** The holders of each lock, in the order in which they got it. */
function stand() {
  const locks = createLocks();
  const got: string[] = [];
  const frees = new Map<string, () => void>();
  const take = async (name: string, key: string, leaving = signal) => {
    frees.set(name, await locks.take(key, leaving));
    got.push(name);
  };
  return { got, take, free: (name: string) => frees.get(name)!() };
}

test('makes calls with the same key wait, and no others', async () => {
  const { got, take, free } = stand();
  const all = [take('a1', 'a'), take('a2', 'a'), take('b1', 'b'), take('a3', 'a')];
  await settled();
  expect(got).toEqual(['a1', 'b1']);
  free('a1');
  await settled();
  free('a2');
  await Promise.all(all);
  expect(got).toEqual(['a1', 'b1', 'a2', 'a3']);
});

test('does not let anybody overtake the first when a waiting call leaves', async () => {
  const { got, take, free } = stand();
  const leaving = new AbortController();
  await take('first', 'a');
  const left = take('second', 'a', leaving.signal);
  const reason = new Error('left');
  leaving.abort(reason);
  await expect(left).rejects.toBe(reason);
  const third = take('third', 'a');
  await settled();
  expect(got).toEqual(['first']);
  free('first');
  await third;
  expect(got).toEqual(['first', 'third']);
});

test('gives no lock to an aborted call, and grants a free one at once', async () => {
  const { got, take, free } = stand();
  await take('first', 'a');
  await expect(take('second', 'a', AbortSignal.abort(new Error('gone')))).rejects.toThrow('gone');
  free('first');
  await take('third', 'a');
  expect(got).toEqual(['first', 'third']);
});

function start(limitMs: number) {
  const clock = createSimulatedClock();
  let overs = 0;
  const limit = startTimeLimit(limitMs, clock, () => (overs += 1));
  return { clock, limit, overs: () => overs };
}

test('A4: stops the time limit while the call waits in the queue', () => {
  const { clock, limit, overs } = start(10_000);
  clock.increment(4_000);
  const one = limit.wait();
  clock.increment(3_000);
  const other = limit.wait();
  one();
  one();
  clock.increment(60_000);
  expect([limit.leftMs(), overs()]).toEqual([6_000, 0]);
  other();
  clock.increment(5_999);
  expect([limit.leftMs(), overs()]).toEqual([1, 0]);
  clock.increment(1);
  clock.increment(60_000);
  expect([overs(), clock.pending]).toEqual([1, 0]);
});

test('A4: ignores a limit that has ended, even if a wait ends later', () => {
  const { clock, limit, overs } = start(1_000);
  const endWait = limit.wait();
  clock.increment(2_000);
  limit.end();
  endWait();
  clock.increment(2_000);
  expect([overs(), clock.pending]).toEqual([0, 0]);
});

test('A4: may run without a limit', () => {
  const { clock, limit, overs } = start(Infinity);
  limit.wait()();
  clock.increment(1e9);
  expect([overs(), clock.pending]).toEqual([0, 0]);
});

const NOW = Date.UTC(2025, 10, 1, 12);
const at = (headers: Record<string, string>) =>
  (retryAtOf(new Headers(headers), NOW).getTime() - NOW) / 1_000;

test.each<[string, Record<string, string>, number]>([
  ['seconds count from now', { 'retry-after': '120' }, 120],
  ['absent: a minute', {}, 60],
  ['an hour at most', { 'retry-after': '86400' }, 3_600],
  [
    'a date in the past is one',
    { 'retry-after': 'Mon, 03 Feb 2031 10:00:00 GMT', date: 'Mon, 03 Feb 2031 10:00:30 GMT' },
    -30,
  ],
])('computes the retry time: %s', (_, headers, seconds) => {
  expect(at(headers)).toBe(seconds);
});

const refusal = (status: number, changing: boolean, headers: Record<string, string> = {}) =>
  httpRefusal({ doing: 'x', status, changing, headers: new Headers(headers), nowMs: NOW });

testRows([
  [400, 'invalid', 'not-done'],
  [401, 'auth', 'not-done'],
  [404, 'transient', 'unknown'],
  [408, 'transient', 'unknown'],
  [409, 'conflict', 'not-done'],
  [418, 'permanent', 'not-done'],
  [429, 'transient', 'not-done'],
  [500, 'transient', 'unknown'],
  [501, 'not-implemented', 'not-done'],
  [503, 'transient', 'unknown'],
] as const)('status %i of a change is %s, %s', (status, kind, outcome) => {
  expect(refusal(status, true)).toMatchObject({ kind, outcome });
  expect(refusal(status, false)).toMatchObject({ kind, outcome: 'not-done' });
});

test("A2: accepts 404 and 410 as absence only in the API's own form", () => {
  for (const status of [404, 410]) {
    const doing = { doing: 'x', status, changing: false, headers: new Headers(), nowMs: NOW };
    expect(httpRefusal(doing)).toMatchObject({
      kind: 'transient',
      message: expect.stringContaining('a proxy may have answered'),
    });
    expect(httpRefusal({ ...doing, isApisOwn: true })).toMatchObject({
      kind: 'not-found',
      outcome: 'not-done',
    });
  }
});

test('takes a retry time from a 429, and from a 503 that has one', () => {
  const soon = { 'retry-after': '30' };
  const retryAt = new Date(NOW + 30_000);
  expect(refusal(429, true, soon).rateLimit).toEqual({ retryAt });
  expect(refusal(503, true, soon).rateLimit).toEqual({ retryAt });
  expect(refusal(503, true).rateLimit).toBeUndefined();
  expect(refusal(500, true, soon).rateLimit).toBeUndefined();
});

/** Rejects with the signal's reason. */
const untilAborted = (signal: AbortSignal) =>
  new Promise<never>((_, reject) =>
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true }),
  );

test('ends and awaits running calls at the end of a lifetime, and refuses later ones', async () => {
  const lifetime = createLifetime();
  const live = { signal: new AbortController().signal };
  const ended: string[] = [];
  const call = lifetime.run(live, async (signal) => {
    await untilAborted(signal).finally(() => ended.push('call'));
  });
  const outcome = expect(call).rejects.toMatchObject({ kind: 'aborted', outcome: 'unknown' });
  await Promise.all([lifetime.stop(), lifetime.stop()]);
  ended.push('stopped');
  await outcome;
  expect(ended).toEqual(['call', 'stopped']);
  const later = lifetime.run(live, async () => 1);
  await expect(later).rejects.toMatchObject({ kind: 'stopped' });
});

test('lets a caller abort its own call, which does not begin if it is too late', async () => {
  const lifetime = createLifetime();
  const leaving = new AbortController();
  const call = lifetime.run(leaving, untilAborted, true);
  const outcome = expect(call).rejects.toMatchObject({ kind: 'aborted', outcome: 'not-done' });
  leaving.abort();
  await outcome;
  let begun = false;
  const late = lifetime.run(leaving, async () => void (begun = true));
  await expect(late).rejects.toMatchObject({ kind: 'aborted', outcome: 'not-done' });
  expect(begun).toBe(false);
  const better = new ProviderError('conflict', 'known');
  const failing = lifetime.run({ signal: new AbortController().signal }, () =>
    Promise.reject(better),
  );
  await expect(failing).rejects.toBe(better);
});

test('a driver may copy the options of a call that runs in its lifetime', async () => {
  const call = { ...callOf(), beforeSending: async () => undefined };
  let now = 1;
  Object.defineProperty(call, 'deadline', { enumerable: true, get: () => new Date(now) });
  const given = Promise.withResolvers<CallOptions>();
  const provider = inLifetime(createLifetime(), {
    getMachine: async (_: string, options: CallOptions) => given.resolve(options),
  } as unknown as Provider);
  await provider.getMachine('a', call);
  const options = await given.promise;
  now = 2;
  expect({ ...options }).toEqual({ ...call, signal: options.signal });
  expect(options.deadline, 'as extended since').toEqual(new Date(2));
  expect(options.signal).not.toBe(call.signal);
});
