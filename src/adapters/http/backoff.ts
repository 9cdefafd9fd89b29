import type { Random } from '../clock/port.ts';

export interface RetryIntervals {
  readonly initialMs: number;
  readonly maximumMs: number;
}

const GROWTH = 1.5;

/**
 * Waits of one logical operation: uniform in [0.5, 1.5] × interval, the interval growing by half to
 * its maximum. Nominal from 500 ms: 0.5, 0.75, 1.125, 1.69, 2.53 s …
 */
export function createRetryWaits({ initialMs, maximumMs }: RetryIntervals, random: Random) {
  let intervalMs = initialMs;
  return function nextMs(): number {
    const waitMs = intervalMs * (0.5 + random.next());
    intervalMs = Math.min(GROWTH * intervalMs, maximumMs);
    return waitMs;
  };
}
