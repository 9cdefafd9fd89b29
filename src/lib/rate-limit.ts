/** Average per second, and maximum at once. */
export interface Rate {
  readonly perSecond: number;
  readonly burst: number;
}

/** Maximum number of remembered keys; the least recently seen is forgotten. */
export const KEYS_MAX = 100_000;

export type RateLimit = ReturnType<typeof createRateLimit>;

/** A clock in milliseconds that never goes back. */
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
    /** Whether a token is available; takes none. */
    has: (key: string): boolean => fill(key).tokens >= 1,
    /** Takes a token if one is available. */
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
