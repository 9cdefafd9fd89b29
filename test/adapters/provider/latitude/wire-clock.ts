import type { Clock } from '../../../../src/adapters/clock/port.ts';
import {
  createSimulatedClock,
  settled,
  type VirtualClock,
} from '../../../doubles/simulated-clock.ts';

/** Limit of a connection; no other wait has this length, so it tells that a request is on its way. */
export const CONNECT_MS = 10_007;
/** A request that is on its way for so long in real time is one that nobody answers. */
const STUCK_MS = 5_000;

/** Virtual time for an API on real sockets. */
export interface WireClock extends VirtualClock {
  /** Requests whose answer has not come. */
  requests(): number;
}

export function createWireClock(): WireClock {
  const clock = createSimulatedClock();
  const onTheWay = new Set<unknown>();
  return {
    ...clock,
    get pending() {
      return clock.pending;
    },
    requests: () => onTheWay.size,
    setTimeout(fn, delayMs) {
      const timer: unknown = clock.setTimeout(() => {
        onTheWay.delete(timer);
        fn();
      }, delayMs);
      if (delayMs === CONNECT_MS) onTheWay.add(timer);
      return timer;
    },
    clearTimeout(timer) {
      onTheWay.delete(timer);
      clock.clearTimeout(timer);
    },
  };
}

/**
 * Lets time pass, from timer to timer, whenever no answer is awaited, until the task is over or so much
 * time has passed.
 * @param hung how many of the answers that are awaited will never come.
 */
export async function pass(
  clock: WireClock,
  until: { readonly task?: Promise<unknown>; readonly forMs?: number },
  hung: () => number = () => 0,
): Promise<void> {
  let isOver = false;
  const over = () => (isOver = true);
  void until.task?.then(over, over);
  const endMs = until.forMs === undefined ? Infinity : clock.monotonic() + until.forMs;
  for (;;) {
    await quiet(clock, hung);
    if (isOver) return;
    const leftMs = endMs - clock.monotonic();
    const nextMs = clock.untilNext();
    if (leftMs <= 0) return;
    if (nextMs !== null || leftMs !== Infinity) clock.increment(Math.min(nextMs ?? leftMs, leftMs));
  }
}

/** Nothing is left to be done at this moment. */
async function quiet(clock: WireClock, hung: () => number): Promise<void> {
  const sinceMs = performance.now();
  for (let still = 0; still < 3;) {
    await settled();
    const isIdle = clock.requests() <= hung() || performance.now() - sinceMs > STUCK_MS;
    still = isIdle ? still + 1 : 0;
  }
}

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
