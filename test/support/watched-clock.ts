import { createSimulatedClock, type VirtualClock } from '../doubles/simulated-clock.ts';

/** Virtual time that knows which timers are set, so that a test can find one left behind. */
export interface WatchedClock extends VirtualClock {
  /** Timers that are set and have neither fired nor been cleared. */
  readonly pending: number;
  /** Milliseconds until the next timer; null: none is set. */
  untilNext(): number | null;
}

export function createWatchedClock(startMs?: number): WatchedClock {
  const clock = createSimulatedClock(startMs);
  const due = new Map<unknown, number>();
  return {
    now: clock.now,
    monotonic: clock.monotonic,
    increment: clock.increment,
    setTimeout(fn, delayMs) {
      // Whole milliseconds, like Node's: sums of fractions might never reach a due time.
      const timeoutMs = Math.ceil(delayMs);
      const id = clock.setTimeout((...args) => {
        due.delete(id);
        fn(...args);
      }, timeoutMs);
      due.set(id, clock.monotonic() + timeoutMs);
      return id;
    },
    clearTimeout(id) {
      if (due.delete(id)) clock.clearTimeout(id);
    },
    get pending() {
      return due.size;
    },
    untilNext: () =>
      due.size === 0 ? null : Math.max(0, Math.min(...due.values()) - clock.monotonic()),
  };
}

/** Lets everything that is already settled run to its end. */
export const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

const AT_ONCE_MAX = 10_000;

/** Moves the clock from timer to timer, letting promises run in between. */
export async function advance(clock: WatchedClock, totalMs: number): Promise<void> {
  const endMs = clock.monotonic() + totalMs;
  let atOnce = 0;
  await settled();
  for (;;) {
    const next = clock.untilNext();
    const left = endMs - clock.monotonic();
    if (next === null || next > left) break;
    atOnce = next === 0 ? atOnce + 1 : 0;
    if (atOnce > AT_ONCE_MAX) throw new Error('timers of no length follow each other for ever');
    clock.increment(next);
    await settled();
  }
  clock.increment(endMs - clock.monotonic());
  await settled();
}

/** Moves the clock from timer to timer, by whatever is set, until the task has ended. */
export async function runOut<T>(clock: WatchedClock, task: Promise<T>): Promise<T> {
  let isOver = false;
  const over = () => (isOver = true);
  void task.then(over, over);
  for (await settled(); !isOver; await settled()) {
    const next = clock.untilNext();
    if (next !== null) clock.increment(next);
  }
  return task;
}
