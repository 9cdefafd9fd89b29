import { RobotError } from './robot-error.ts';

export const HOUR_MS = 3_600_000;

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

/** How many requests were let through in the last hour. */
export interface Limits {
  /** @throws {RobotError} 403: there were as many as may be. */
  count(classOf: string, nowMs: number, perUser?: number): void;
  /** By class, of the last hour. */
  used(nowMs: number): Readonly<Record<string, number>>;
}

export function createLimits(given: Readonly<Record<string, number>> = {}): Limits {
  const limits: Readonly<Record<string, number>> = { ...LIMITS, ...given };
  const passed = new Map<string, number[]>();
  const recent = (name: string, nowMs: number): number[] => {
    const times = passed.get(name) ?? [];
    const old = times.findIndex((atMs) => atMs > nowMs - HOUR_MS);
    times.splice(0, old < 0 ? times.length : old);
    passed.set(name, times);
    return times;
  };
  const refuse = (max: number) => {
    throw new RobotError(403, 'RATE_LIMIT_EXCEEDED', 'rate limit exceeded', {
      max_request: max,
      max_requests: max,
      interval: HOUR_MS / 1_000,
    });
  };
  return {
    count(name, nowMs, perUser) {
      const times = recent(name, nowMs);
      const all = () =>
        [...passed.keys()].reduce((sum, each) => sum + recent(each, nowMs).length, 0);
      if (perUser !== undefined && all() >= perUser) refuse(perUser);
      const max = limits[name];
      if (perUser === undefined && max !== undefined && times.length >= max) refuse(max);
      times.push(nowMs);
    },
    used: (nowMs) =>
      Object.fromEntries([...passed.keys()].map((name) => [name, recent(name, nowMs).length])),
  };
}
