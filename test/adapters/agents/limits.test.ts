import { describe, expect, test } from 'vitest';
import { createRateLimit } from '../../../src/lib/rate-limit.ts';
import { createSimulatedClock } from '../../doubles/simulated-clock.ts';

describe('limits', () => {
  test('a rate grants its burst, then its average, for each key by itself', () => {
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
});
