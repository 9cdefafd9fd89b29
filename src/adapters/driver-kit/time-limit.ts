import { isProviderError, ProviderError } from '../../domain/errors.ts';
import { unlessAborted } from '../../domain/joined.ts';
import type { Clock } from '../clock/port.ts';
import type { CallOptions } from '../provider/port.ts';

/**
 * @param limitMs may be infinite.
 * @param onOver called once when the time is up; without it, no timer is set.
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
  /** Waits leave the timer unchanged; it checks for them when it fires. */
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
    /** Begins a wait for a turn; call the result at its end. Waits may overlap. */
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
    /** Ends the limit. */
    end(): void {
      isOver = true;
      clock.clearTimeout(timer);
    },
  };
}
/** A time limit that pauses while the work waits for a turn. */
export type TimeLimit = ReturnType<typeof startTimeLimit>;

/** For drivers: runs each method of the provider, and ends them at `stop`. */
export function createLifetime() {
  const stopping = new AbortController();
  const running = new Set<Promise<unknown>>();
  return {
    /**
     * Runs one call. Its signal aborts with the caller's and at the stop.
     * @throws {ProviderError} `stopped`: already stopped. `aborted`: the signal ended it, and the
     *   task threw no port error itself; `outcome: 'unknown'` unless `reading`.
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
        throw new ProviderError('aborted', 'aborted before it ended', { cause, outcome });
      } finally {
        running.delete(result);
      }
    },
    /** For work besides calls. */
    signal: stopping.signal,
    /** Aborts running work and resolves when it has ended. Idempotent. */
    async stop(): Promise<void> {
      stopping.abort();
      await Promise.allSettled(running);
    },
  };
}
/** Runs tasks with the same key one after the other, and those with different keys concurrently. */
export function createLocks() {
  /** For each key, the end of the last task in the queue. */
  const tails = new Map<string, Promise<void>>();
  const locks = {
    /**
     * Resolves with a function that frees the lock; call it once. Rejects with the signal's reason
     * if aborted while waiting.
     */
    async take(key: string, signal: AbortSignal): Promise<() => void> {
      const before = tails.get(key);
      const mine = Promise.withResolvers<void>();
      const tail = (before ?? Promise.resolve()).then(() => mine.promise);
      tails.set(key, tail);
      // Only after all tasks before it: leaving the queue must not free another task's lock.
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
     * Runs a task under the lock.
     * @param what the operation, for the error of a caller that was aborted while waiting.
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
