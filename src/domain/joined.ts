import { ProviderError } from './errors.ts';

/** Resolves with the answer. If the signal comes first, rejects with its reason. */
export function unlessAborted<T>(answer: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const leave = () => reject(signal.reason as Error);
    answer.then(resolve, reject).finally(() => signal.removeEventListener('abort', leave));
    if (signal.aborted) leave();
    else signal.addEventListener('abort', leave, { once: true });
  });
}

interface Flight<T> {
  readonly version: number;
  readonly result: Promise<T>;
  readonly leaving: AbortController;
  waiting: number;
}

/**
 * Shares one run among all callers that arrive while it lasts. A changed `version` starts a new
 * run, because a caller that changed something needs a newer answer. The run is aborted when all
 * callers have left.
 * @throws {ProviderError} `aborted`: the caller's signal ended its wait.
 */
export function createJoined<T>(
  start: (signal: AbortSignal) => Promise<T>,
  version: () => number = () => 0,
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
    try {
      return await unlessAborted(flight.result, signal);
    } catch (error) {
      throw error === signal.reason ? aborted(signal) : error;
    } finally {
      flight.waiting -= 1;
      if (flight.waiting === 0) {
        if (latest === flight) latest = null;
        flight.leaving.abort();
      }
    }
  };
}

const aborted = ({ reason }: AbortSignal) =>
  new ProviderError('aborted', 'nobody waits for the answer any more', { cause: reason });
