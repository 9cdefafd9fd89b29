import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createDueTimes } from '../../src/actors/due-times.ts';
import { advance, createSimulatedClock } from '../doubles/simulated-clock.ts';
import { testRows } from '../support/rows.ts';

function turning() {
  const clock = createSimulatedClock();
  const fired: { key: string; atMs: number }[] = [];
  const dueTimes = createDueTimes<string>(clock, clock.monotonic, (keys) => {
    for (const key of keys) fired.push({ key, atMs: clock.monotonic() });
  });
  return { clock, dueTimes, fired };
}

testRows([
  ['fires once, when due', [100], 101],
  ['a later due time replaces the earlier one', [100, 500], 501],
  ['an earlier due time replaces the later one', [500, 100], 101],
] as const)('%s', async (_, dueMs, firesMs) => {
  const { clock, dueTimes, fired } = turning();
  for (const atMs of dueMs) dueTimes.set('a', atMs);
  await advance(clock, firesMs - 1);
  expect(fired).toEqual([]);
  await advance(clock, 10_000);
  expect(fired).toEqual([{ key: 'a', atMs: firesMs }]);
  expect(clock.pending).toBe(0);
});

test('does not fire for a forgotten key, which can be set again', async () => {
  const { clock, dueTimes, fired } = turning();
  dueTimes.set('a', 100);
  dueTimes.set('a', null);
  await advance(clock, 200);
  expect(fired).toEqual([]);
  dueTimes.set('a', 300);
  await advance(clock, 200);
  expect(fired).toEqual([{ key: 'a', atMs: 301 }]);
});

test('fires at once for an overdue time', async () => {
  const { clock, dueTimes, fired } = turning();
  await advance(clock, 1_000);
  dueTimes.set('a', 10);
  await advance(clock, 1);
  expect(fired).toEqual([{ key: 'a', atMs: 1_001 }]);
});

test('sleeps in short steps to a due time that is days away', async () => {
  const { clock, dueTimes, fired } = turning();
  const day = 24 * 3_600_000;
  dueTimes.set('a', 40 * day);
  expect(clock.untilNext()).toBeLessThanOrEqual(60_000);
  await advance(clock, day);
  expect(fired).toEqual([]);
  dueTimes.stop();
});

test('follows its clock even when the clock is set back', async () => {
  const clock = createSimulatedClock();
  let offset = 0;
  const fired: number[] = [];
  const dueTimes = createDueTimes<string>(
    clock,
    () => clock.monotonic() + offset,
    () => {
      fired.push(clock.monotonic());
    },
  );
  dueTimes.set('a', 1_000);
  offset = -500;
  await advance(clock, 1_400);
  expect(fired).toEqual([]);
  await advance(clock, 200);
  expect(fired).toEqual([1_501]);
});

test('neither fires nor sets a timer after its stop', async () => {
  const { clock, dueTimes, fired } = turning();
  dueTimes.set('a', 100);
  dueTimes.stop();
  dueTimes.set('b', 50);
  expect(clock.pending).toBe(0);
  await advance(clock, 1_000);
  expect(fired).toEqual([]);
});

test('fires once per key and due time, never early, however often it moved', async () => {
  const step = fc.record({
    key: fc.constantFrom('a', 'b', 'c'),
    inMs: fc.option(fc.integer({ min: 1, max: 300 }), { nil: null }),
    restMs: fc.nat(120),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
      const clock = createSimulatedClock();
      const due = new Map<string, number>();
      const dueTimes = createDueTimes<string>(clock, clock.monotonic, (keys) => {
        for (const key of keys) {
          const lateMs = clock.monotonic() - (due.get(key) ?? Number.NaN);
          expect([0, 1]).toContain(lateMs);
          due.delete(key);
        }
      });
      for (const { key, inMs, restMs } of steps) {
        const atMs = inMs === null ? null : clock.monotonic() + inMs;
        if (atMs === null) due.delete(key);
        else due.set(key, atMs);
        dueTimes.set(key, atMs);
        await advance(clock, restMs);
        for (const left of due.values()) expect(left + 1).toBeGreaterThan(clock.monotonic());
      }
      await advance(clock, 1_000);
      expect(due.size).toBe(0);
      expect(clock.pending).toBe(0);
    }),
    { numRuns: 100 },
  );
});
