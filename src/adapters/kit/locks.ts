import { unlessAborted } from '../../domain/joined.ts';

/** Lets what has the same key happen one after the other, and what has different keys side by side. */
export interface Locks {
  /**
   * Resolves with what frees the lock, to be called once. Rejects with the signal's reason when aborted
   * while waiting.
   */
  take(key: string, signal: AbortSignal): Promise<() => void>;
}

export function createLocks(): Locks {
  /** For each key, the end of the last one in the line. */
  const tails = new Map<string, Promise<void>>();
  return {
    async take(key, signal) {
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
  };
}
