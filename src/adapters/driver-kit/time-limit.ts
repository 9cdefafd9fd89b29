import { isProviderError, ProviderError } from '../../domain/errors.ts';
import { unlessAborted } from '../../domain/joined.ts';
import type { Clock } from '../clock/port.ts';
import type { CallOptions } from '../provider/port.ts';

/**
 * @param limitMs may be infinite.
 * @param onOver is called once, when the time is used up; without it no timer is set.
 */
export function startTimeLimit(
  limitMs: number,
  clock: Pick<Clock, 'monotonic' | 'setTimeout' | 'clearTimeout'>,
  onOver?: () => void,
) {
  const isTimed = onOver !== undefined && limitMs !== Infinity;
  let usedMs = 0;
  let sinceMs = clock.monotonic();
  let waits = 0;
  let isOver = false;
  let timer: unknown;
  const leftMs = () => limitMs - usedMs - (waits === 0 ? clock.monotonic() - sinceMs : 0);
  const arm = (delayMs: number) => (timer = clock.setTimeout(look, delayMs));
  /** Waits leave the timer as it is: what they put off is found out when it fires. */
  function look() {
    timer = undefined;
    if (waits > 0 || isOver) return;
    if (leftMs() > 0) return void arm(leftMs());
    isOver = true;
    onOver?.();
  }
  if (isTimed) arm(limitMs);

  return {
    leftMs,
    /** A wait for a turn begins. Call what it answers with when the wait is over. Waits may overlap. */
    wait(): () => void {
      if (waits === 0) usedMs += clock.monotonic() - sinceMs;
      waits += 1;
      let hasTurn = false;
      return () => {
        if (hasTurn) return;
        hasTurn = true;
        waits -= 1;
        if (waits > 0) return;
        sinceMs = clock.monotonic();
        if (timer === undefined && isTimed) look();
      };
    },
    /** Nothing is limited any more. */
    end(): void {
      isOver = true;
      clock.clearTimeout(timer);
    },
  };
}
/** A limit of time that stands still while what it limits waits for a turn. */
export type TimeLimit = ReturnType<typeof startTimeLimit>;

/** For drivers: each method of the provider runs in it, and `stop` is its own. */
export function createLifetime() {
  const stopping = new AbortController();
  const running = new Set<Promise<unknown>>();
  return {
    /**
     * Runs one call. Its signal aborts with the caller's and at the stop.
     * @throws {ProviderError} `stopped`: it is over already. `aborted`: the signal ended it, and the
     *   task threw no error of its own; `outcome: 'unknown'` unless `reading`.
     */
    async run<T>(
      { signal: ours }: Pick<CallOptions, 'signal'>,
      task: (signal: AbortSignal) => Promise<T>,
      reading: boolean = false,
    ): Promise<T> {
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
    /** For what runs beside calls. */
    signal: stopping.signal,
    /** Aborts what is under way and resolves when it has ended. Idempotent. */
    async stop(): Promise<void> {
      stopping.abort();
      await Promise.allSettled(running);
    },
  };
}
/** Lets what has the same key happen one after the other, and what has different keys side by side. */
export function createLocks() {
  /** For each key, the end of the last one in the line. */
  const tails = new Map<string, Promise<void>>();
  const locks = {
    /**
     * Resolves with what frees the lock, to be called once. Rejects with the signal's reason when aborted
     * while waiting.
     */
    async take(key: string, signal: AbortSignal): Promise<() => void> {
      const before = tails.get(key);
      const mine = Promise.withResolvers<void>();
      const tail = (before ?? Promise.resolve()).then(() => mine.promise);
      tails.set(key, tail);
      // Not before all in front of it are over, too: who leaves the line frees nobody else's lock.
      void tail.then(() => {
        if (tails.get(key) === tail) tails.delete(key);
      });
      try {
        if (before) await unlessAborted(before, signal);
      } catch (error) {
        mine.resolve();
        throw error;
      }
      return mine.resolve;
    },
    /**
     * Runs a task while it holds the lock.
     * @param what is being done under the lock, for the error of a caller that was aborted while waiting.
     * @throws {ProviderError} `aborted`
     */
    async alone<T>(
      key: string,
      signal: AbortSignal,
      { what, task }: { readonly what: string; readonly task: () => Promise<T> },
    ): Promise<T> {
      const unlock = await locks.take(key, signal).catch((cause: unknown) => {
        throw new ProviderError('aborted', what, { cause });
      });
      try {
        return await task();
      } finally {
        unlock();
      }
    },
  };
  return locks;
}
export type Locks = ReturnType<typeof createLocks>;
