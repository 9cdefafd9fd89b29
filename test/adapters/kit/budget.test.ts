import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createBudget, spentStarts } from '../../../src/adapters/driver-kit/call-classes.ts';
import { createTurns } from '../../../src/adapters/driver-kit/turns.ts';
import { createSimulatedClock } from '../../doubles/simulated-clock.ts';

const HOUR = 3_600_000;
const live = new AbortController().signal;
const RESETS = { startsMax: 45, withinMs: HOUR, keptForUrgent: 10 };

function spend(budget: ReturnType<typeof createBudget>, starts: number) {
  for (let n = 0; n < starts; n++) budget.take();
}

test('so many starts in an hour, and the last ones are left to what is urgent', () => {
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

test('daemons share a budget; nobody is left without any', () => {
  const clock = createSimulatedClock();
  let daemons = 2;
  const budget = createBudget([RESETS], { clock, daemons: () => daemons });
  expect([budget.left(false), budget.left(true)]).toEqual([17, 22]);
  daemons = 100;
  expect([budget.left(false), budget.left(true)]).toEqual([1, 1]);
});

test('all of several budgets have to have something left', () => {
  const clock = createSimulatedClock();
  const perMinute = { startsMax: 3, withinMs: 60_000 };
  const budget = createBudget([perMinute, { startsMax: 5, withinMs: HOUR }], { clock });
  spend(budget, 3);
  expect(budget.waitMs(false)).toBe(60_000);
  clock.increment(60_000);
  spend(budget, 2);
  expect(budget.waitMs(false)).toBe(HOUR - 60_000);
});

test('hetzner-robot vector 25: what was spent survives a restart, and never counts for too short', () => {
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

test('starts that a wrong clock put into the future count as now', () => {
  const clock = createSimulatedClock();
  const budget = createBudget([RESETS], { clock });
  budget.recall([[clock.now() + 10 * HOUR, 45]]);
  expect(budget.waitMs(true)).toBe(HOUR);
});

test('no stretch of time ever sees more starts than the budget has', () => {
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

test('an empty budget sends away who will not wait, and lets urgent ones begin', async () => {
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
