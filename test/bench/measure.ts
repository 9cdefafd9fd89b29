import { performance } from 'node:perf_hooks';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

export interface Measurement {
  readonly perSecond: number;
  /** Latency of each call, in milliseconds. */
  readonly latenciesMs: readonly number[];
}

export interface RateOptions {
  /** Concurrent loops; each calls again as soon as it is answered. */
  readonly callers: number;
  readonly warmMs: number;
  readonly spanMs: number;
  /** One call of the loop `caller`. @returns false: nothing is left, which ends the measurement. */
  readonly once: (caller: number) => Promise<boolean>;
  /** Monotonic clock, milliseconds; default: the real one. */
  readonly now?: () => number;
}

/** Calls per second of all loops together, after a warm-up. */
export async function measureRate(options: RateOptions): Promise<Measurement> {
  const { now = () => performance.now() } = options;
  const fromMs = now() + options.warmMs;
  const untilMs = fromMs + options.spanMs;
  const latenciesMs: number[] = [];
  let endMs = untilMs;
  const loop = async (caller: number) => {
    for (;;) {
      const calledMs = now();
      if (calledMs >= endMs && latenciesMs.length > 0) return;
      const more = await options.once(caller);
      const answeredMs = now();
      if (!more) {
        endMs = Math.min(endMs, answeredMs);
        return;
      }
      // A call that is longer than the span extends the span.
      if (latenciesMs.length === 0) endMs = Math.max(endMs, answeredMs);
      if (answeredMs >= fromMs && answeredMs <= endMs) latenciesMs.push(answeredMs - calledMs);
    }
  };
  await Promise.all(Array.from({ length: options.callers }, (_, caller) => loop(caller)));
  if (endMs <= fromMs) throw new Error('nothing was left to do before the warm-up was over');
  return { perSecond: (latenciesMs.length * 1_000) / (endMs - fromMs), latenciesMs };
}

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

/** Bytes of heap in use after a garbage collection. */
export function heapInUse(): number {
  collectGarbage();
  return process.memoryUsage().heapUsed;
}

/**
 * The value below which the share (0 to 1) of the values lies. @throws when there are no values.
 */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  const value = sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))];
  if (value === undefined) throw new Error('no values to take a quantile of');
  return value;
}

export const median = (values: readonly number[]): number => quantile(values, 0.5);

/** Splits the items among this many callers. */
export const shares = <T>(items: readonly T[], callers: number): T[][] => {
  const size = Math.floor(items.length / callers);
  return Array.from({ length: callers }, (_, at) => items.slice(at * size, (at + 1) * size));
};

/** In a random order. */
export const shuffled = <T>(items: readonly T[]): T[] =>
  items
    .map((item) => ({ item, at: Math.random() }))
    .toSorted((a, b) => a.at - b.at)
    .map(({ item }) => item);

/** Three significant figures: more would suggest a false precision. */
export const rounded = (value: number): number => Number(value.toPrecision(3));

/** CPU time of this process, milliseconds. */
export function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

/** Runs of one measurement; the first ones warm up. */
const WARM_UP = 3;
const RUNS = 9;

/** The fastest of some runs, milliseconds. The others are slower because of other processes. */
export const best = (run: () => void) => (): number => {
  const times: number[] = [];
  for (let at = 0; at < WARM_UP + RUNS; at += 1) {
    const beganMs = performance.now();
    run();
    if (at >= WARM_UP) times.push(performance.now() - beganMs);
  }
  return Math.min(...times);
};
