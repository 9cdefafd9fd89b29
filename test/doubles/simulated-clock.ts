import TinyQueue from 'tinyqueue';
import type { Clock, Random } from '../../src/adapters/clock/port.ts';

/**
 * Virtual time: nothing happens until `increment`. It knows its pending timers, so a test finds
 * leaked ones.
 */
export interface VirtualClock extends Clock {
  increment(ms: number): void;
  /** Number of timers that have neither fired nor been cleared. */
  readonly pending: number;
  /** Whether it has neither fired nor been cleared. */
  isPending(timer: unknown): boolean;
  /** Milliseconds until the next timer; null: none is set. */
  untilNext(): number | null;
}

interface Timer {
  readonly fn: () => void;
  readonly atMs: number;
  /** Of timers due together, the lowest number fires first. */
  readonly order: number;
}

/**
 * @param startMs start time, epoch milliseconds.
 * @param rank of a timer among those due together; default: the order in which they were set.
 */
export function createSimulatedClock(
  startMs = 1_700_000_000_000,
  rank?: () => number,
): VirtualClock {
  /** Cleared timers stay in the queue until their time. */
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

/** Our own waits for the next turn of the event loop. */
let turnsAwaited = 0;

/**
 * Something continues by itself: a file is read, a module is loaded, or code yielded for a turn.
 */
function isWorking(mayGiveWay: boolean): boolean {
  const resources = process.getActiveResourcesInfo();
  const turns = resources.filter((name) => name === 'Immediate').length;
  return (mayGiveWay && turns > turnsAwaited) || resources.some((name) => name.startsWith('FSReq'));
}

/** Code that yields repeatedly, as a waiting test does, delays time for this many turns only. */
const TURNS_MAX = 100;

/** Runs everything that needs no time to pass. */
export async function settled(): Promise<void> {
  for (let turns = 0; turns === 0 || isWorking(turns < TURNS_MAX); turns++) {
    turnsAwaited += 1;
    await new Promise<void>((resolve) => setImmediate(resolve));
    turnsAwaited -= 1;
  }
}

const AT_ONCE_MAX = 10_000;

/**
 * Moves the clock from timer to timer, and lets promises run in between.
 * @param onStep called after each timer and its consequences.
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

/** Tasks that wait for time to pass. One loop moves a clock for all of them. */
interface WaitingTasks {
  readonly tasks: Set<Promise<unknown>>;
  readonly loop: Promise<void>;
}
const waiting = new WeakMap<VirtualClock, WaitingTasks>();

/** Moves the clock from timer to timer until the task has ended. */
export async function runOut<T>(clock: VirtualClock, task: Promise<T>): Promise<T> {
  const tasks = waiting.get(clock)?.tasks ?? new Set();
  tasks.add(task);
  const over = () => void tasks.delete(task);
  void task.then(over, over);
  const { loop } = waiting.get(clock) ?? { loop: moveOn(clock, tasks) };
  waiting.set(clock, { tasks, loop });
  return Promise.race([task, loop.then(() => task)]);
}

async function moveOn(clock: VirtualClock, tasks: ReadonlySet<unknown>): Promise<void> {
  try {
    for (await settled(); tasks.size > 0; await settled()) {
      const next = clock.untilNext();
      if (next !== null) clock.increment(next);
    }
  } finally {
    waiting.delete(clock);
  }
}

/** The same object; each call lets time pass until it has ended. */
export const driven = <T extends object>(clock: VirtualClock, target: T): T =>
  new Proxy(target, {
    get(_, name) {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== 'function') return value;
      return (...args: unknown[]) => {
        const result: unknown = value.apply(target, args);
        return result instanceof Promise ? runOut(clock, result) : result;
      };
    },
  });

/** Small seeded generator (mulberry32): equal seeds give equal runs. */
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
