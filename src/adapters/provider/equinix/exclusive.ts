/** Runs tasks of the same key one after another, those of different keys side by side. */
export interface Exclusive {
  run<T>(key: string, signal: AbortSignal, task: () => Promise<T>): Promise<T>;
}

/** Per reservation and per device only one mutation runs at a time in this process. */
export function createExclusive(): Exclusive {
  const tails = new Map<string, Promise<void>>();
  return {
    async run(key, signal, task) {
      const before = tails.get(key);
      const mine = Promise.withResolvers<void>();
      const tail = (before ?? Promise.resolve()).then(() => mine.promise);
      tails.set(key, tail);
      try {
        if (before) await orAborted(before, signal);
        return await task();
      } finally {
        mine.resolve();
        if (tails.get(key) === tail) tails.delete(key);
      }
    },
  };
}

/** Ends early at the signal; the task then fails by itself. */
function orAborted(done: Promise<void>, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      signal.removeEventListener('abort', end);
      resolve();
    };
    signal.addEventListener('abort', end, { once: true });
    void done.then(end);
    if (signal.aborted) end();
  });
}
