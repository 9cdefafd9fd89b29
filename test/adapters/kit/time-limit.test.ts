import { expect, test } from 'vitest';
import { startTimeLimit } from '../../../src/adapters/driver-kit/time-limit.ts';
import { createSimulatedClock } from '../../doubles/simulated-clock.ts';

function start(limitMs: number) {
  const clock = createSimulatedClock();
  let overs = 0;
  const limit = startTimeLimit(limitMs, clock, () => (overs += 1));
  return { clock, limit, overs: () => overs };
}

test('A4: the limit stands still while something waits for its turn', () => {
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

test('A4: a limit that has ended does nothing, even where a wait ends later', () => {
  const { clock, limit, overs } = start(1_000);
  const endWait = limit.wait();
  clock.increment(2_000);
  limit.end();
  endWait();
  clock.increment(2_000);
  expect([overs(), clock.pending]).toEqual([0, 0]);
});

test('A4: there may be no limit', () => {
  const { clock, limit, overs } = start(Infinity);
  limit.wait()();
  clock.increment(1e9);
  expect([overs(), clock.pending]).toEqual([0, 0]);
});
