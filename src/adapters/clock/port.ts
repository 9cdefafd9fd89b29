import { TimedOut } from '../../domain/errors.ts';

/**
 * Time and randomness. Only adapters, simulator and agent may call `Date.now`, `setTimeout` or
 * `Math.random`; all other code gets this interface. Satisfies XState's `Clock`.
 */
export interface Clock {
  /** Wall clock, epoch milliseconds. */
  now(): number;
  /** Never goes back; only differences have a meaning, in milliseconds. */
  monotonic(): number;
  setTimeout(fn: (...args: unknown[]) => void, timeoutMs: number): unknown;
  clearTimeout(id: unknown): void;
}

export interface Random {
  /** Uniform in [0, 1). */
  next(): number;
  /** UUID v4, lower case. Secrets are made from it: unguessable outside tests. */
  uuid(): string;
}

export interface TimeLimit {
  readonly ms: number;
  /** Also ends the work. */
  readonly signal?: AbortSignal;
  /** Description of the work, for the error. */
  readonly what?: string;
}

/**
 * Runs work with a signal that aborts with the caller's signal, or after a time. Waits for the work
 * in any case.
 * @throws {TimedOut} the work failed after its time had passed.
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

/** Resolves after `delayMs`; rejects with the signal's reason if it aborts before. */
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
