/** On average so many each second, and so many at once. */
export interface Rate {
  readonly perSecond: number;
  readonly burst: number;
}

/** Keys that are remembered at once; the one longest not seen is forgotten. */
export const KEYS_MAX = 100_000;

export type RateLimit = ReturnType<typeof createRateLimit>;

/** Milliseconds that only ever grow. */
export interface Monotonic {
  monotonic(): number;
}

/** A token bucket per key. */
export function createRateLimit({ perSecond, burst }: Rate, clock: Monotonic) {
  const buckets = new Map<string, { tokens: number; atMs: number }>();
  const fill = (key: string) => {
    const nowMs = clock.monotonic();
    const bucket = buckets.get(key) ?? { tokens: burst, atMs: nowMs };
    const gained = ((nowMs - bucket.atMs) / 1000) * perSecond;
    return { tokens: Math.min(burst, bucket.tokens + gained), atMs: nowMs };
  };
  return {
    /** Whether there is one, without taking it. */
    has: (key: string): boolean => fill(key).tokens >= 1,
    /** Takes one if there is one. */
    take(key: string): boolean {
      const bucket = fill(key);
      const granted = bucket.tokens >= 1;
      if (granted) bucket.tokens -= 1;
      buckets.delete(key);
      buckets.set(key, bucket);
      if (buckets.size > KEYS_MAX) buckets.delete(buckets.keys().next().value!);
      return granted;
    },
  };
}
