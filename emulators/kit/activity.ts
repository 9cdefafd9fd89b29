import type { EmulatorClock } from './clock.ts';

/** What goes on by itself, so that whoever moves a clock by hand can wait for it. */
export interface Activity {
  /** Runs it; it counts until it ends, but not while it waits for time. */
  run(work: () => Promise<void>): void;
  /** @throws the signal's reason. */
  wait(clock: EmulatorClock, delayMs: number, signal: AbortSignal): Promise<void>;
  /** Waits for other work that counts by itself: the one who waits does not count. */
  apart<T>(work: Promise<T>): Promise<T>;
  settled(): Promise<void>;
}

export function createActivity(): Activity {
  let count = 0;
  const waiting: (() => void)[] = [];
  const end = () => {
    count -= 1;
    if (count === 0) for (const tell of waiting.splice(0)) tell();
  };
  return {
    run(work) {
      count += 1;
      void work().finally(end);
    },
    wait: (clock, delayMs, signal) =>
      new Promise((resolve, reject) => {
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
    apart(work) {
      end();
      return work.finally(() => void (count += 1));
    },
    settled: () =>
      count === 0 ? Promise.resolve() : new Promise((resolve) => void waiting.push(resolve)),
  };
}
