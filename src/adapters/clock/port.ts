import { TimedOut } from '../../domain/errors.ts';

/**
 * Time and chance. No room but adapters, simulator and agent may call `Date.now`, `setTimeout` or
 * `Math.random`; they get this instead. Satisfies XState's `Clock`.
 */
export interface Clock {
  /** Wall clock, epoch milliseconds. */
  now(): number;
  /** Never goes back; only differences mean anything, milliseconds. */
  monotonic(): number;
  setTimeout(fn: (...args: unknown[]) => void, timeoutMs: number): unknown;
  clearTimeout(id: unknown): void;
}

export interface Random {
  /** Uniform in [0, 1). */
  next(): number;
  /** UUID v4, lower case; secrets are made of it, so outside tests nobody can guess it. */
  uuid(): string;
}

export interface TimeLimit {
  readonly ms: number;
  /** Ends the work as well. */
  readonly signal?: AbortSignal;
  /** The work, for the error. */
  readonly what?: string;
}

/**
 * Works with a signal that aborts with the caller's, or after a time. It waits for the work all the same.
 * @throws {TimedOut} the work failed once its time was over.
 */
export async function withTimeLimit<T>(
  clock: Pick<Clock, 'setTimeout' | 'clearTimeout'>,
  { ms, signal, what }: TimeLimit,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const late = new AbortController();
  const message = what ? `${what}: no end after ${ms} ms` : `no answer within ${ms} ms`;
  const timer = clock.setTimeout(() => late.abort(new TimedOut(message)), ms);
  try {
    return await work(signal ? AbortSignal.any([signal, late.signal]) : late.signal);
  } catch (error) {
    throw late.signal.aborted && signal?.aborted !== true ? late.signal.reason : error;
  } finally {
    clock.clearTimeout(timer);
  }
}

/** Resolves after `delayMs`; rejects with the signal's reason when it is aborted before. */
export function sleep(clock: Clock, delayMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) {
      reject(signal.reason as Error);
      return;
    }
    const onAbort = () => {
      clock.clearTimeout(timer);
      reject(signal!.reason as Error);
    };
    const timer = clock.setTimeout(() => {
      signal?.removeEventListener('abort', onAbort);
      resolve();
    }, delayMs);
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}
