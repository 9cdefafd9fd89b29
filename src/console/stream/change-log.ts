import type { Clock } from '../../adapters/clock/port.ts';
import type { Slot } from '../../domain/ids.ts';

export const LOG_MAX = 50_000;
export const LOG_MS = 60_000;

/** Which machines changed lately, by a number that grows with every change. */
export interface ChangeLog {
  /** Of the latest change; 0: none yet. */
  readonly latest: number;
  add(slot: Slot): void;
  /** Machines that changed after that one; null: it is not known any more. */
  since(number: number): ReadonlySet<Slot> | null;
}

/** Each machine stands in it once, at its latest change. */
export function createChangeLog(clock: Pick<Clock, 'monotonic'>): ChangeLog {
  /** Oldest first. */
  const changes = new Map<Slot, { readonly number: number; readonly atMs: number }>();
  let latest = 0;
  /** Of the newest change that was forgotten. */
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
