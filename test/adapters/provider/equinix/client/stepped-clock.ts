import type { Clock } from '../../../../../src/adapters/clock/port.ts';
import { createSimulatedClock } from '../../../../doubles/simulated-clock.ts';

/** Virtual time that goes from timer to timer. Drives the client and the emulator alike. */
export interface SteppedClock extends Clock {
  /** Moves to the next timer and fires all that are due then. Answers whether there was one. */
  step(): boolean;
  /** Moves by so much, firing what falls due on the way, in order. */
  advance(ms: number): void;
  /** Milliseconds since the beginning. */
  elapsedMs(): number;
}

export const START_MS = Date.parse('2026-08-01T10:00:00Z');

export function createSteppedClock(): SteppedClock {
  const clock = createSimulatedClock(START_MS);
  const { now, monotonic, setTimeout, clearTimeout } = clock;
  const stepWithin = (limitMs: number) => {
    const next = clock.untilNext();
    if (next === null || next > limitMs) return false;
    clock.increment(next);
    return true;
  };
  return {
    now,
    monotonic,
    setTimeout,
    clearTimeout,
    elapsedMs: monotonic,
    step: () => stepWithin(Infinity),
    advance(ms) {
      const untilMs = monotonic() + ms;
      while (stepWithin(untilMs - monotonic()));
      clock.increment(untilMs - monotonic());
    },
  };
}

/** A free turn of the event loop, in which sockets are read. */
const turn = () => new Promise<void>((resolve) => setImmediate(resolve));
/** Turns without traffic after which nothing more will come by itself. */
const QUIET_TURNS = 4;
/** Turns without traffic and without a timer after which it is over. */
const DEAD_TURNS = 10_000;

/**
 * Steps the clock until the promise settles, whenever no request is under way.
 * @param inFlight requests that have no reply yet, without those that never get one.
 */
export async function settle<T>(
  clock: SteppedClock,
  inFlight: () => number,
  promise: Promise<T>,
): Promise<T> {
  let settled = false;
  const end = () => void (settled = true);
  promise.then(end, end);
  for (let quiet = 0; !settled;) {
    await turn();
    if (inFlight() > 0) quiet = 0;
    else if (++quiet >= QUIET_TURNS && clock.step()) quiet = 0;
    if (quiet > DEAD_TURNS) throw new Error('nothing is left that could settle the promise');
  }
  return promise;
}
