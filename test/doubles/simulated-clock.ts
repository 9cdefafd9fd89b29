import TinyQueue from 'tinyqueue';
import type { Clock, Random } from '../../src/adapters/clock/port.ts';

/**
 * Virtual time: nothing happens until `increment`. It knows which timers are set, so that a test can
 * find one that was left behind.
 */
export interface VirtualClock extends Clock {
  increment(ms: number): void;
  /** Timers that are set and have neither fired nor been cleared. */
  readonly pending: number;
  /** Whether it has neither fired nor been cleared. */
  isPending(timer: unknown): boolean;
  /** Milliseconds until the next timer; null: none is set. */
  untilNext(): number | null;
}

interface Timer {
  readonly fn: () => void;
  readonly atMs: number;
  /** Of timers that are due together the one of the lowest number fires first. */
  readonly order: number;
}

/**
 * @param startMs when it begins, epoch milliseconds.
 * @param rank of a timer among those that are due together; the order in which they were set if absent.
 */
export function createSimulatedClock(
  startMs = 1_700_000_000_000,
  rank?: () => number,
): VirtualClock {
  /** Those that were cleared stay in the queue until it is their turn. */
  const queue = new TinyQueue<Timer>([], (a, b) => a.atMs - b.atMs || a.order - b.order);
  const pending = new Set<unknown>();
  let nowMs = 0;
  let order = 0;
  const first = (): Timer | undefined => {
    for (let top = queue.peek(); top; top = queue.peek()) {
      if (pending.has(top)) return top;
      queue.pop();
    }
    return undefined;
  };
  return {
    now: () => startMs + nowMs,
    monotonic: () => nowMs,
    increment(ms) {
      nowMs += ms;
      for (let timer = first(); timer && timer.atMs <= nowMs; timer = first()) {
        pending.delete(timer);
        timer.fn();
      }
    },
    setTimeout(fn, delayMs) {
      // Whole milliseconds, like Node's: sums of fractions might never reach a due time.
      const atMs = nowMs + Math.max(0, Math.ceil(delayMs));
      order += 1;
      const timer: Timer = { fn, atMs, order: rank ? rank() : order };
      pending.add(timer);
      queue.push(timer);
      return timer;
    },
    clearTimeout: (timer) => void pending.delete(timer),
    isPending: (timer) => pending.has(timer),
    get pending() {
      return pending.size;
    },
    untilNext() {
      const next = first();
      return next ? Math.max(0, next.atMs - nowMs) : null;
    },
  };
}

/** Lets everything that is already settled run to its end. */
export const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

const AT_ONCE_MAX = 10_000;

/**
 * Moves the clock from timer to timer, letting promises run in between.
 * @param onStep called after each timer and all that followed from it.
 */
export async function advance(
  clock: VirtualClock,
  totalMs: number,
  onStep: () => void = () => undefined,
): Promise<void> {
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
    onStep();
  }
  clock.increment(endMs - clock.monotonic());
  await settled();
}

/** Moves the clock from timer to timer, by whatever is set, until the task has ended. */
export async function runOut<T>(clock: VirtualClock, task: Promise<T>): Promise<T> {
  let isOver = false;
  const over = () => (isOver = true);
  void task.then(over, over);
  for (await settled(); !isOver; await settled()) {
    const next = clock.untilNext();
    if (next !== null) clock.increment(next);
  }
  return task;
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
