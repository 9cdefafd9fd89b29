import { AsyncLocalStorage } from 'node:async_hooks';
import type { TimeLimit } from '../kit/time-limit.ts';

/** Knows the limit of the call that is under way, so that a driver need not carry it around. */
export interface CallLimits {
  /** Runs the work of a call under its limit. */
  run<T>(limit: TimeLimit, work: () => Promise<T>): Promise<T>;
  /** See `DriverContext.waitsForTurn`. */
  waitsForTurn(): () => void;
}

export function createCallLimits(): CallLimits {
  const current = new AsyncLocalStorage<TimeLimit>();
  return {
    run: (limit, work) => current.run(limit, work),
    waitsForTurn: () => current.getStore()?.wait() ?? (() => undefined),
  };
}
