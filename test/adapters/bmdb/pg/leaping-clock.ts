import { systemClock } from '../../../../src/adapters/clock/system-clock.ts';
import type { Clock } from '../../../../src/adapters/clock/port.ts';

/** Real time that can leap ahead: timers that are due after a leap fire at once. */
export interface LeapingClock extends Clock {
  leap(ms: number): void;
}

export function createLeapingClock(): LeapingClock {
  let offset = 0;
  const timers = new Map<object, { dueMs: number; fn: () => void; real: unknown }>();
  const monotonic = () => systemClock.monotonic() + offset;
  const arm = (id: object, dueMs: number, fn: () => void) => {
    const real = systemClock.setTimeout(
      () => {
        timers.delete(id);
        fn();
      },
      Math.max(0, dueMs - monotonic()),
    );
    timers.set(id, { dueMs, fn, real });
  };
  return {
    now: () => systemClock.now() + offset,
    monotonic,
    setTimeout: (fn, timeoutMs) => {
      const id = {};
      arm(id, monotonic() + timeoutMs, fn);
      return id;
    },
    clearTimeout: (id) => {
      const timer = timers.get(id as object);
      systemClock.clearTimeout(timer?.real);
      timers.delete(id as object);
    },
    leap: (ms) => {
      offset += ms;
      for (const [id, timer] of [...timers]) {
        systemClock.clearTimeout(timer.real);
        arm(id, timer.dueMs, timer.fn);
      }
    },
  };
}
