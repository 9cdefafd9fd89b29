import type { Log } from '../adapters/log/port.ts';
import { explain } from '../domain/errors.ts';

/** What was opened, to be closed in reverse. */
export interface Closer {
  /** Registers how to close something, by a name for the log. */
  add(name: string, close: () => Promise<void> | void): void;
  /** Closes all that is open, last first; a failure is logged and the rest goes on. */
  close(): Promise<void>;
}

export function createCloser(log: Log): Closer {
  const open: { name: string; close: () => Promise<void> | void }[] = [];
  return {
    add: (name, close) => void open.push({ name, close }),
    async close() {
      for (let last = open.pop(); last; last = open.pop()) {
        try {
          await last.close();
        } catch (error) {
          log.warn({ part: last.name, cause: explain(error) }, 'a part could not be closed');
        }
      }
    },
  };
}
