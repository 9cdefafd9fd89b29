import { SimulatedClock } from 'xstate';
import type { Clock, Random } from '../../src/adapters/clock/port.ts';

/** Virtual time for tests: nothing happens until `increment`. Starts at `startMs` (epoch). */
export interface VirtualClock extends Clock {
  increment(ms: number): void;
}
export function createSimulatedClock(startMs = 1_700_000_000_000): VirtualClock {
  const clock = new SimulatedClock();
  return {
    now: () => startMs + clock.now(),
    monotonic: () => clock.now(),
    setTimeout: (fn, timeoutMs) => clock.setTimeout(fn, timeoutMs),
    clearTimeout: (id) => clock.clearTimeout(id as never),
    increment: (ms) => clock.increment(ms),
  };
}

/** Small seeded generator (mulberry32): the same seed gives the same run. */
export function createSeededRandom(seed: number): Random {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
  const hex = (digits: number) =>
    Array.from({ length: digits }, () => Math.floor(next() * 16).toString(16)).join('');
  return {
    next,
    uuid: () =>
      `${hex(8)}-${hex(4)}-4${hex(3)}-${'89ab'[Math.floor(next() * 4)]}${hex(3)}-${hex(12)}`,
  };
}
