import type { Clock } from '../../../../../src/adapters/clock/port.ts';

/** Time that stands still until it is stepped. Drives the client and the emulator alike. */
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
  const timers = new Map<number, { readonly dueMs: number; readonly fn: () => void }>();
  let elapsedMs = 0;
  let lastId = 0;

  const nextDueMs = () => Math.min(...[...timers.values()].map(({ dueMs }) => dueMs));
  function fireDue() {
    for (const [id, { dueMs, fn }] of timers) {
      if (dueMs > elapsedMs || !timers.delete(id)) continue;
      fn();
    }
  }
  function moveTo(ms: number) {
    elapsedMs = Math.max(elapsedMs, ms);
    fireDue();
  }

  return {
    now: () => START_MS + elapsedMs,
    monotonic: () => elapsedMs,
    elapsedMs: () => elapsedMs,
    setTimeout: (fn, timeoutMs) => {
      timers.set(++lastId, { dueMs: elapsedMs + Math.max(0, timeoutMs), fn });
      return lastId;
    },
    clearTimeout: (id) => void timers.delete(id as number),
    step() {
      if (timers.size === 0) return false;
      moveTo(nextDueMs());
      return true;
    },
    advance(ms) {
      const untilMs = elapsedMs + ms;
      while (timers.size > 0 && nextDueMs() <= untilMs) moveTo(nextDueMs());
      moveTo(untilMs);
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
