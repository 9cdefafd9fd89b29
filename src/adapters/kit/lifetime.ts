import { isProviderError, ProviderError } from '../../domain/errors.ts';
import type { CallOptions } from '../provider/port.ts';

/** The ends of a provider's calls: their own signals, and the provider's stop. */
export interface Lifetime {
  /**
   * Runs one call. Its signal aborts with the caller's and at the stop.
   * @throws {ProviderError} `stopped`: it is over already. `aborted`: the signal ended it, and the
   *   task said nothing better; `outcome: 'unknown'` unless `reading`.
   */
  run<T>(
    options: Pick<CallOptions, 'signal'>,
    task: (signal: AbortSignal) => Promise<T>,
    reading?: boolean,
  ): Promise<T>;
  /** For what runs beside calls. */
  readonly signal: AbortSignal;
  /** Aborts what is under way and resolves when it has ended. Idempotent. */
  stop(): Promise<void>;
}

/** For drivers: each method of the provider runs in it, and `stop` is its own. */
export function createLifetime(): Lifetime {
  const stopping = new AbortController();
  const running = new Set<Promise<unknown>>();
  return {
    async run({ signal: ours }, task, reading = false) {
      if (stopping.signal.aborted) throw new ProviderError('stopped', 'the provider was stopped');
      if (ours.aborted) throw new ProviderError('aborted', 'aborted before it began');
      const signal = AbortSignal.any([ours, stopping.signal]);
      const result = task(signal);
      running.add(result);
      try {
        return await result;
      } catch (cause) {
        if (isProviderError(cause) || !signal.aborted) throw cause;
        const outcome = reading ? 'not-done' : 'unknown';
        throw new ProviderError('aborted', 'aborted on its way', { cause, outcome });
      } finally {
        running.delete(result);
      }
    },
    signal: stopping.signal,
    async stop() {
      stopping.abort();
      await Promise.allSettled(running);
    },
  };
}
