import type { Limits } from '../core.ts';

/** Counts the requests of each key, reads and writes apart, within the time that has just passed. */
export interface Limiter {
  /** Counts a request that passes. Undefined: it does; else for how long to wait, milliseconds. */
  waitMs(token: string, kind: 'read' | 'write'): number | undefined;
}

export function createLimiter({ reads, writes, windowMs }: Limits, now: () => number): Limiter {
  const passed = new Map<string, number[]>();
  return {
    waitMs(token, kind) {
      const name = `${kind} ${token}`;
      const times = (passed.get(name) ?? []).filter((atMs) => atMs > now() - windowMs);
      passed.set(name, times);
      if (times.length >= (kind === 'read' ? reads : writes)) {
        return times[0]! + windowMs - now();
      }
      times.push(now());
      return undefined;
    },
  };
}
