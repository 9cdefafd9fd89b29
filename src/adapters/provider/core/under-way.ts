import { AsyncLocalStorage } from 'node:async_hooks';
import type { TurnWait } from '../port.ts';
import type { Running } from './calls.ts';

/** Knows the call that is under way, so that a driver need not carry its terms around. */
export interface UnderWay {
  run<T, Args extends unknown[]>(
    running: Running,
    work: (...args: Args) => Promise<T>,
    ...args: Args
  ): Promise<T>;
  /** See `DriverContext.waitsForTurn`. */
  waitsForTurn(): TurnWait;
}

export function createUnderWay(): UnderWay {
  const current = new AsyncLocalStorage<Running>();
  return {
    run: current.run.bind(current),
    waitsForTurn() {
      const running = current.getStore();
      return { urgent: running?.urgent ?? false, end: running?.limit.wait() ?? (() => undefined) };
    },
  };
}
