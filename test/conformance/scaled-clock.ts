import type { Clock } from '../../src/adapters/clock/port.ts';

/** Real time, `speed` times faster, for machines that answer real SSH. */
export function createScaledClock(speed: number): Clock {
  const origin = performance.now();
  const monotonic = () => (performance.now() - origin) * speed;
  return {
    now: () => 1_700_000_000_000 + monotonic(),
    monotonic,
    setTimeout: (fn, timeoutMs) => setTimeout(fn, timeoutMs / speed),
    clearTimeout: (id) => clearTimeout(id as NodeJS.Timeout),
  };
}
