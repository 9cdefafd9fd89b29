import type { Log } from '../adapters/log/port.ts';
import { explain } from '../domain/errors.ts';
import type { Clock } from '../adapters/clock/port.ts';

/** Opened resources, to be closed in reverse order. */
export interface Closer {
  /** Registers a resource with its name for the log. */
  add(name: string, close: () => Promise<void> | void): void;
  /** Closes all open resources, last first; a failure is logged and the rest continues. */
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

const DAY_MS = 86_400_000;

/** Logs the fleet's state once a day, so that a quiet log still proves a living daemon. */
export function tellDaily(
  summary: () => Readonly<Record<string, unknown>>,
  { clock, log, closer }: { readonly clock: Clock; readonly log: Log; readonly closer: Closer },
): void {
  const beganAtMs = clock.monotonic();
  let timer: unknown;
  const wait = () => {
    timer = clock.setTimeout(() => {
      const days = Math.round((clock.monotonic() - beganAtMs) / DAY_MS);
      log.info({ days, ...summary() }, 'the fleet, once a day');
      wait();
    }, DAY_MS);
  };
  wait();
  closer.add('daily summary', () => clock.clearTimeout(timer));
}
