import type { Clock } from '../../../../src/adapters/clock/port.ts';

/** Real time that runs `speed` times faster, and remembers every delay asked for. */
export function createScaledClock(speed: number): Clock & { readonly delaysMs: number[] } {
  const startMs = 1_700_000_000_000;
  const origin = performance.now();
  const monotonic = () => (performance.now() - origin) * speed;
  const delaysMs: number[] = [];
  return {
    delaysMs,
    now: () => startMs + monotonic(),
    monotonic,
    setTimeout: (fn, timeoutMs) => {
      delaysMs.push(timeoutMs);
      return setTimeout(fn, timeoutMs / speed);
    },
    clearTimeout: (id) => clearTimeout(id as NodeJS.Timeout),
  };
}
