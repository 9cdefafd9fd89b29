import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Clock } from '../../../src/adapters/clock/port.ts';
import { systemClock } from '../../../src/adapters/clock/system-clock.ts';
import {
  createTurns,
  createTurnGroups,
  type TurnOptions,
  type Turns,
} from '../../../src/adapters/driver-kit/turns.ts';
import { createSimulatedClock } from '../../doubles/simulated-clock.ts';

const live = new AbortController().signal;
const quick = { signal: live, bulk: false, onPause: () => undefined };
const bulk = { ...quick, bulk: true };

const turnsFor = (parallelism: number, gapMs = 0, clock: Clock = systemClock) =>
  createTurns({ maxConcurrency: parallelism, gapMs }, { clock });

const flush = () => new Promise((resolve) => setImmediate(resolve));

/** Runs a task through the queue. */
async function inTurn<T>(
  turns: Pick<Turns, 'take'>,
  task: () => Promise<T>,
  options: TurnOptions,
): Promise<T> {
  const end = await turns.take(options);
  try {
    return await task();
  } finally {
    end();
  }
}

/** Lets time pass, and runs everything ready before and after. */
async function pass(clock: { increment(ms: number): void }, ms: number) {
  await flush();
  clock.increment(ms);
  await flush();
}

/** A task that runs until it is released. */
function held() {
  const started = Promise.withResolvers<void>();
  const release = Promise.withResolvers<void>();
  const task = () => {
    started.resolve();
    return release.promise;
  };
  return { task, started: started.promise, release: release.resolve };
}

test('keeps the distance between starts, also after a late one and for the number of daemons', async () => {
  const clock = createSimulatedClock();
  let daemons = 1;
  const turns = createTurns({ maxConcurrency: 9, gapMs: 40 }, { clock, daemons: () => daemons });
  const startsMs: number[] = [];
  const run = () => inTurn(turns, async () => void startsMs.push(clock.monotonic()), quick);
  const runs = [run(), run(), run()];
  await pass(clock, 39);
  expect(startsMs).toEqual([0]);
  await pass(clock, 31);
  await pass(clock, 39);
  await pass(clock, 1);
  daemons = 2;
  runs.push(run());
  await pass(clock, 79);
  await pass(clock, 1);
  await Promise.all(runs);
  const gaps = startsMs.slice(1).map((ms, n) => ms - startsMs[n]!);
  expect(gaps).toEqual([70, 40, 80]);
});

test('vector 20: leaves one slot to quick tasks beside bulk tasks', async () => {
  const turns = turnsFor(3);
  const pages = [held(), held(), held()];
  const runs = pages.map(({ task }) => inTurn(turns, task, bulk));
  await Promise.all([pages[0]!.started, pages[1]!.started]);
  await inTurn(turns, async () => undefined, quick);
  const third = pages[2]!.started.then(() => 'started');
  expect(await Promise.race([third, inTurn(turns, async () => 'quick', quick)])).toBe('quick');
  for (const { release } of pages) release();
  await Promise.all(runs);
});

test('rejects a caller that leaves with its reason, at no cost for the others', async () => {
  const turns = turnsFor(1);
  const first = held();
  const running = inTurn(turns, first.task, quick);
  const leaving = new AbortController();
  const left = inTurn(turns, async () => 'never', { ...quick, signal: leaving.signal });
  const last = inTurn(turns, async () => 'last', quick);
  leaving.abort(new Error('left'));
  await expect(left).rejects.toThrow('left');
  await expect(turns.take({ ...quick, signal: leaving.signal })).rejects.toThrow('left');
  first.release();
  expect(await Promise.all([running, last])).toEqual([undefined, 'last']);
});

test('runs one trial alone after a pause', async () => {
  const clock = createSimulatedClock();
  const turns = turnsFor(3, 0, clock);
  turns.pause(7_000);
  const trial = held();
  const runs = [inTurn(turns, trial.task, quick)];
  let others = 0;
  for (let i = 0; i < 3; i++) runs.push(inTurn(turns, async () => void others++, quick));
  await pass(clock, 6_999);
  expect(turns.pausedMs()).toBe(1);
  await pass(clock, 1);
  await trial.started;
  expect(others).toBe(0);
  trial.release();
  await Promise.all(runs);
  expect(others).toBe(3);
});

test('holds the others for ten seconds while a trial hangs, and for one more each time', async () => {
  const clock = createSimulatedClock();
  const turns = turnsFor(3, 0, clock);
  turns.pause(1_000);
  const [first, second] = [held(), held()];
  const runs = [inTurn(turns, first.task, quick), inTurn(turns, second.task, quick)];
  let others = 0;
  runs.push(inTurn(turns, async () => void others++, quick));
  let secondStarted = false;
  void second.started.then(() => void (secondStarted = true));
  await pass(clock, 1_000);
  await first.started;
  await pass(clock, 9_999);
  await flush();
  expect(secondStarted).toBe(false);
  await pass(clock, 1);
  await second.started;
  expect(others).toBe(0);
  second.release();
  await runs[2];
  expect(others).toBe(1);
  first.release();
  await Promise.all(runs);
});

test('respects a pause that a late trial asks for', async () => {
  const clock = createSimulatedClock();
  const turns = turnsFor(3, 0, clock);
  turns.pause(1_000);
  const [first, second, third] = [held(), held(), held()];
  const runs = [first, second, third].map(({ task }) => inTurn(turns, task, quick));
  await pass(clock, 1_000);
  await first.started;
  turns.pause(20_000);
  first.release();
  await runs[0];
  let thirdStarted = false;
  void third.started.then(() => void (thirdStarted = true));
  await pass(clock, 20_000);
  await second.started;
  await flush();
  expect(thirdStarted).toBe(false);
  second.release();
  third.release();
  await Promise.all(runs);
});

test('uses no page of a listing as the trial while others wait', async () => {
  const clock = createSimulatedClock();
  const turns = turnsFor(3, 0, clock);
  turns.pause(1_000);
  const order: string[] = [];
  const runs = [
    inTurn(turns, async () => void order.push('bulk'), bulk),
    inTurn(turns, async () => void order.push('quick'), quick),
  ];
  await pass(clock, 1_000);
  await Promise.all(runs);
  expect(order).toEqual(['quick', 'bulk']);
});

test('never shortens a pause, and rejects callers that cannot wait', async () => {
  const clock = createSimulatedClock();
  const turns = turnsFor(1, 0, clock);
  turns.pause(10_000);
  const impatient = inTurn(turns, async () => 'never', {
    ...quick,
    onPause: (delayMs) => new Error(`paused ${delayMs}`),
  });
  turns.pause(2_000);
  expect(turns.pausedMs()).toBe(10_000);
  await expect(impatient).rejects.toThrow('paused 10000');
  turns.stop();
});

/** A run of the property below: its events in order. */
const steps = fc.array(
  fc.oneof(
    fc.record({ kind: fc.constant('run' as const), bulk: fc.boolean() }),
    fc.record({ kind: fc.constant('finish' as const), at: fc.nat(20) }),
    fc.record({ kind: fc.constant('leave' as const), at: fc.nat(20) }),
    fc.record({ kind: fc.constant('pause' as const), ms: fc.integer({ min: 1, max: 90 }) }),
    fc.record({ kind: fc.constant('time' as const), ms: fc.integer({ min: 1, max: 60 }) }),
  ),
  { maxLength: 40 },
);

test('keeps limits, order and distance, and serves every caller, in any history', async () => {
  const limits = fc.record({
    parallelism: fc.integer({ min: 1, max: 4 }),
    apiRateMs: fc.constantFrom(0, 25),
  });
  await fc.assert(
    fc.asyncProperty(limits, steps, async ({ parallelism, apiRateMs }, script) => {
      const clock = createSimulatedClock();
      const turns = turnsFor(parallelism, apiRateMs, clock);
      const bulkMax = Math.max(1, parallelism - 1);
      const running: { readonly bulk: boolean; readonly end: () => void }[] = [];
      const waiting: { readonly left: AbortController; readonly ended: Promise<unknown> }[] = [];
      const started: Record<string, number[]> = { bulk: [], quick: [] };
      let lastStartMs = -Infinity;
      let count = 0;

      const begin = (isBulk: boolean, number: number) => () => {
        const { promise, resolve } = Promise.withResolvers<void>();
        const entry = { bulk: isBulk, end: resolve };
        running.push(entry);
        expect(running.length).toBeLessThanOrEqual(parallelism);
        expect(running.filter((one) => one.bulk).length).toBeLessThanOrEqual(bulkMax);
        expect(clock.monotonic() - lastStartMs).toBeGreaterThanOrEqual(apiRateMs);
        expect(turns.pausedMs()).toBe(0);
        lastStartMs = clock.monotonic();
        started[isBulk ? 'bulk' : 'quick']!.push(number);
        return promise.then(() => void running.splice(running.indexOf(entry), 1));
      };

      for (const step of script) {
        if (step.kind === 'run') {
          const left = new AbortController();
          const options = { ...quick, bulk: step.bulk, signal: left.signal };
          const ended = inTurn(turns, begin(step.bulk, count++), options).catch(() => 'left');
          waiting.push({ left, ended });
        } else if (step.kind === 'finish') running[step.at]?.end();
        else if (step.kind === 'leave') waiting[step.at]?.left.abort(new Error('left'));
        else if (step.kind === 'pause') turns.pause(step.ms);
        else clock.increment(step.ms);
        await flush();
      }
      for (let round = 0; round < 2 * count + 4; round++) {
        clock.increment(100);
        for (const { end } of [...running]) end();
        await flush();
      }
      await Promise.all(waiting.map(({ ended }) => ended));
      for (const numbers of Object.values(started)) {
        expect(numbers).toEqual(numbers.toSorted((one, other) => one - other));
      }
    }),
    { numRuns: 60 },
  );
});

const ONE_AT_A_TIME = { maxConcurrency: 1, gapMs: 0, restMs: 200, bulkLast: true };
const settle = () => new Promise((resolve) => setImmediate(resolve));

function stand(together?: number) {
  const clock = createSimulatedClock();
  const groups = createTurnGroups(
    {
      each: ONE_AT_A_TIME,
      ...(together !== undefined && { together: { maxConcurrency: together, gapMs: 0 } }),
    },
    { clock },
  );
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  function take(key: string, name: string, options: { bulk?: boolean; urgent?: boolean } = {}) {
    void groups.take(key, { signal: live, ...options }).then((end) => {
      begun.push(name);
      ends.set(name, end);
    });
  }
  const end = async (name: string) => {
    ends.get(name)!();
    await settle();
  };
  return { clock, groups, begun, take, end };
}

test('runs one call per key at a time, with a rest between an end and the next start', async () => {
  const { clock, begun, take, end } = stand();
  take('a', 'a1');
  take('a', 'a2');
  take('b', 'b1');
  await settle();
  expect(begun).toEqual(['a1', 'b1']);
  clock.increment(1_000);
  await end('a1');
  expect(begun, 'it rests').toEqual(['a1', 'b1']);
  clock.increment(200);
  await settle();
  expect(begun).toEqual(['a1', 'b1', 'a2']);
});

test('lets polling reads yield to changes, and changes to urgent calls', async () => {
  const { clock, begun, take, end } = stand();
  take('a', 'first');
  take('a', 'poll', { bulk: true });
  take('a', 'change');
  take('a', 'urgent', { urgent: true });
  await settle();
  for (const name of ['first', 'urgent', 'change', 'poll']) {
    await end(name);
    clock.increment(200);
    await settle();
  }
  expect(begun).toEqual(['first', 'urgent', 'change', 'poll']);
});

test('does not slow others down while a call waits for a busy key', async () => {
  const { begun, take, end } = stand(2);
  take('a', 'a1');
  take('a', 'a2');
  take('b', 'b1');
  take('c', 'c1');
  await settle();
  expect(begun).toEqual(['a1', 'b1']);
  await end('b1');
  expect(begun).toEqual(['a1', 'b1', 'c1']);
});

test('forgets a key once it has no state left', async () => {
  const { clock, groups } = stand();
  for (let n = 0; n < 2_000; n++) (await groups.take(`bmc-${n}`, { signal: live }))();
  expect(groups.size).toBe(2_000);
  groups.pause('bmc-7', 600_000);
  clock.increment(1_000);
  for (let n = 0; n < 2_100; n++) {
    (await groups.take('busy', { signal: live }))();
    clock.increment(200);
  }
  expect(groups.size, 'the busy one and the paused one').toBe(2);
  expect(groups.pausedMs('bmc-7')).toBeGreaterThan(0);
  groups.stop();
  expect(clock.pending).toBe(0);
});
