import type { Clock } from '../../src/adapters/clock/port.ts';

/** The time of one process: once it is dead nothing happens in it any more. */
export interface MortalClock extends Clock {
  kill(): void;
}

export function createMortalClock(clock: Clock): MortalClock {
  const timers = new Set<unknown>();
  let isDead = false;
  return {
    now: clock.now,
    monotonic: clock.monotonic,
    setTimeout(fn, delayMs) {
      if (isDead) return null;
      const timer: unknown = clock.setTimeout(() => {
        timers.delete(timer);
        fn();
      }, delayMs);
      timers.add(timer);
      return timer;
    },
    clearTimeout(timer) {
      timers.delete(timer);
      clock.clearTimeout(timer);
    },
    kill() {
      isDead = true;
      for (const timer of timers) clock.clearTimeout(timer);
      timers.clear();
    },
  };
}
