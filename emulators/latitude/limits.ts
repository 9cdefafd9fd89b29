/** Maximum number of the key's requests within `windowMs`. */
export interface Limits {
  readonly reads: number;
  readonly writes: number;
  readonly windowMs: number;
}

/** Counts requests, reads and writes separately, in a sliding window. */
export interface Limiter {
  /** Counts a passing request. @returns the necessary wait, milliseconds; undefined: none. */
  waitMs(kind: 'reads' | 'writes'): number | undefined;
}

export function createLimiter(limits: Limits, now: () => number): Limiter {
  const passed: Record<'reads' | 'writes', number[]> = { reads: [], writes: [] };
  return {
    waitMs(kind) {
      const { windowMs } = limits;
      const times = passed[kind].filter((atMs) => atMs > now() - windowMs);
      passed[kind] = times;
      if (times.length >= limits[kind]) return times[0]! + windowMs - now();
      times.push(now());
      return undefined;
    },
  };
}
