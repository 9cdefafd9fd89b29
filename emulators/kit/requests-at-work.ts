import { setImmediate } from 'node:timers/promises';

/** The requests that are at work, and not waiting for time: whoever moves a clock by hand waits for them. */
export interface RequestsAtWork {
  begin(): void;
  end(): void;
  /** A handler that waits for time by itself never ends before the clock moves: it is not waited for. */
  settled(): Promise<void>;
}

const TURNS_MAX = 20;

export function createRequestsAtWork(): RequestsAtWork {
  let count = 0;
  return {
    begin: () => void (count += 1),
    end: () => void (count -= 1),
    async settled() {
      for (let turn = 0; count > 0 && turn < TURNS_MAX; turn += 1) await setImmediate();
    },
  };
}
