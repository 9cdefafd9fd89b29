import { describe, expect, test } from 'vitest';
import { createByteRoom, createRecentSet } from '../../../src/adapters/agents/limits.ts';
import { createRateLimit } from '../../../src/lib/rate-limit.ts';
import { createSimulatedClock } from '../../doubles/simulated-clock.ts';

describe('limits of the agent server', () => {
  test('grant each key its burst and then its average rate', () => {
    const clock = createSimulatedClock();
    const limit = createRateLimit({ perSecond: 2, burst: 3 }, clock);
    const grants = (key: string) => Array.from({ length: 5 }, () => limit.take(key));
    expect(grants('a')).toEqual([true, true, true, false, false]);
    expect(limit.has('a')).toBe(false);
    expect(limit.has('b')).toBe(true);
    clock.increment(1_000);
    expect(grants('a')).toEqual([true, true, false, false, false]);
    clock.increment(60_000);
    expect(grants('a')).toEqual([true, true, true, false, false]);
  });

  test('remember a refusal from its first time, not longer by asking again', () => {
    const clock = createSimulatedClock();
    const recent = createRecentSet(5_000, clock);
    recent.add('a');
    clock.increment(4_999);
    recent.add('a');
    expect(recent.has('a')).toBe(true);
    clock.increment(1);
    expect(recent.has('a')).toBe(false);
    recent.add('a');
    expect(recent.has('a')).toBe(true);
  });
});

describe('room for bytes', () => {
  test('is granted up to the limits and returned', () => {
    const room = createByteRoom({ all: 10, each: 6 });
    const [a, again, b] = [room.enter('a'), room.enter('a'), room.enter('b')];
    expect([a.take(4), again.take(3), again.take(2), b.take(5), b.take(4)]).toEqual([
      ...[true, false, true, false, true],
    ]);
    a.leave();
    expect([again.take(4), again.take(1)]).toEqual([true, false]);
    again.leave();
    b.leave();
    expect(room.enter('c').take(6)).toBe(true);
  });
});
