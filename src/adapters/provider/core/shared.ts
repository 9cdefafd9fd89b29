import { ProviderError } from '../../../domain/errors.ts';

interface Flight<T> {
  readonly version: number;
  readonly result: Promise<T>;
  readonly leaving: AbortController;
  waiting: number;
}

/**
 * One run for everybody who asks while it lasts, unless `version` has changed since it began: who
 * changed something does not want an answer from before. It ends when all who wait have left.
 */
export function createShared<T>(
  start: (signal: AbortSignal) => Promise<T>,
  version: () => number,
): (signal: AbortSignal) => Promise<T> {
  let latest: Flight<T> | null = null;

  function begin(): Flight<T> {
    const leaving = new AbortController();
    const result = start(leaving.signal);
    const flight = { version: version(), result, leaving, waiting: 0 };
    const over = () => {
      if (latest === flight) latest = null;
    };
    result.then(over, over);
    return flight;
  }

  return async (signal) => {
    if (signal.aborted) throw aborted(signal);
    const flight = latest?.version === version() ? latest : begin();
    latest = flight;
    flight.waiting += 1;
    let leave = (): void => undefined;
    const left = new Promise<never>((_, reject) => {
      leave = () => reject(aborted(signal));
      signal.addEventListener('abort', leave, { once: true });
    });
    try {
      return await Promise.race([flight.result, left]);
    } finally {
      signal.removeEventListener('abort', leave);
      flight.waiting -= 1;
      if (flight.waiting === 0) {
        if (latest === flight) latest = null;
        flight.leaving.abort();
      }
    }
  };
}

const aborted = (signal: AbortSignal) =>
  new ProviderError('aborted', 'nobody waits for the answer any more', { cause: signal.reason });
