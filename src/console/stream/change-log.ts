import type { Clock } from '../../adapters/clock/port.ts';
import type { Slot } from '../../domain/ids.ts';

export const LOG_MAX = 50_000;
export const LOG_MS = 60_000;

/** Recently changed machines, by a number that grows with every change. */
export interface ChangeLog {
  /** Number of the latest change; 0: none yet. */
  readonly latest: number;
  add(slot: Slot): void;
  /** Machines changed after that number; null: the log does not reach back so far. */
  since(number: number): ReadonlySet<Slot> | null;
}

/** Contains each machine once, at its latest change. */
export function createChangeLog(clock: Pick<Clock, 'monotonic'>): ChangeLog {
  /** Oldest first. */
  const changes = new Map<Slot, { readonly number: number; readonly atMs: number }>();
  let latest = 0;
  /** Number of the newest forgotten change. */
  let forgotten = 0;

  const forget = () => {
    const untilMs = clock.monotonic() - LOG_MS;
    for (const [slot, { number, atMs }] of changes) {
      if (changes.size <= LOG_MAX && atMs >= untilMs) return;
      forgotten = number;
      changes.delete(slot);
    }
  };
  return {
    get latest() {
      return latest;
    },
    add(slot) {
      latest += 1;
      changes.delete(slot);
      changes.set(slot, { number: latest, atMs: clock.monotonic() });
      forget();
    },
    since(number) {
      forget();
      if (number < forgotten || number > latest) return null;
      return new Set([...changes].filter(([, each]) => each.number > number).map(([slot]) => slot));
    },
  };
}
