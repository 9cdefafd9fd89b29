const HOUR_MS = 3_600_000;

/** Requests per hour, by method and first part of the path. */
export const LIMITS: Readonly<Record<string, number>> = {
  'GET /server': 200,
  'POST /server': 200,
  'GET /reset': 500,
  'POST /reset': 50,
  'GET /boot': 500,
  'POST /boot': 500,
  'DELETE /boot': 500,
  'GET /key': 500,
  'POST /key': 200,
  'DELETE /key': 200,
};

/** Requests of the last hour. */
export interface Limits {
  /** Counts one more request. @returns the refusal's details if the limit was reached. */
  over(classOf: string, nowMs: number): object | undefined;
}

export function createLimits(given: Readonly<Record<string, number>> = {}): Limits {
  const limits: Readonly<Record<string, number>> = { ...LIMITS, ...given };
  const passed = new Map<string, number[]>();
  return {
    over(name, nowMs) {
      const recent = (passed.get(name) ?? []).filter((atMs) => atMs > nowMs - HOUR_MS);
      passed.set(name, recent);
      const max = limits[name] ?? Infinity;
      if (recent.length >= max) {
        return { max_request: max, max_requests: max, interval: HOUR_MS / 1_000 };
      }
      recent.push(nowMs);
      return undefined;
    },
  };
}
