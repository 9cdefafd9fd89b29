import type { EmulatorClock } from './clock.ts';

export type Activity = ReturnType<typeof createActivity>;

/** Background work, for which the mover of a manual clock can wait. */
export function createActivity() {
  let count = 0;
  const waiting: (() => void)[] = [];
  const end = () => {
    count -= 1;
    if (count === 0) for (const tell of waiting.splice(0)) tell();
  };
  return {
    /** Runs it. It counts until it ends, except while it waits for time. */
    run(work: () => Promise<void>): void {
      count += 1;
      void work().finally(end);
    },
    /** @throws the signal's reason. */
    wait: (clock: EmulatorClock, delayMs: number, signal: AbortSignal) =>
      new Promise<void>((resolve, reject) => {
        signal.throwIfAborted();
        const leave = () => {
          clock.clearTimeout(timer);
          count += 1;
          reject(signal.reason as Error);
        };
        const timer = clock.setTimeout(() => {
          signal.removeEventListener('abort', leave);
          count += 1;
          resolve();
        }, delayMs);
        signal.addEventListener('abort', leave, { once: true });
        end();
      }),
    /** Waits for other work that counts by itself, without counting the waiting caller. */
    apart<T>(work: Promise<T>): Promise<T> {
      end();
      return work.finally(() => void (count += 1));
    },
    settled: (): Promise<void> =>
      count === 0 ? Promise.resolve() : new Promise((resolve) => void waiting.push(resolve)),
  };
}
