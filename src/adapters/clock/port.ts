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
