import { Cancelled } from '../domain/errors.ts';
import { bySeniority, seniorityOf } from '../domain/eligibility.ts';
import type { Slot } from '../domain/ids.ts';
import type { SlotFacts } from '../domain/machine.ts';
import { countPermits } from '../domain/recovery/permits.ts';
import type { RecoveryBudget } from '../domain/policy.ts';

/** Lets silent machines wait for room in the recovery budget, the oldest attempt first. */
export interface PermitQueue {
  /** Resolves when there seems to be room; the claim in the BMDB still decides. */
  wait(slot: Slot, signal: AbortSignal): Promise<void>;
  /** News of the fleet: whoever now has room goes on. */
  offer(facts: ReadonlyMap<Slot, SlotFacts>): void;
}

export function createPermitQueue(budget: RecoveryBudget): PermitQueue {
  const waiting = new Map<Slot, () => void>();
  let facts: ReadonlyMap<Slot, SlotFacts> = new Map();
  let counts = countPermits([], budget);

  const take = (slot: Slot): boolean => {
    const row = facts.get(slot)?.row;
    if (!row?.provided) return false;
    if (row.permit) return true;
    if (!counts.hasRoom(row.provided)) return false;
    counts.take(row.provided);
    return true;
  };

  /** Whoever waits and is known. */
  const inOrder = (): Slot[] =>
    [...waiting.keys()]
      .flatMap((slot) => {
        const row = facts.get(slot)?.row;
        return row ? [{ slot, ...seniorityOf('ShepherdRecovery', row) }] : [];
      })
      .toSorted(bySeniority)
      .map(({ slot }) => slot);

  return {
    wait: (slot, signal) =>
      new Promise((resolve, reject) => {
        if (signal.aborted) return reject(new Cancelled('no longer waiting for a permit'));
        if (take(slot)) return resolve();
        const onAbort = () => {
          if (waiting.get(slot) === go) waiting.delete(slot);
          reject(new Cancelled('no longer waiting for a permit'));
        };
        const go = () => {
          signal.removeEventListener('abort', onAbort);
          resolve();
        };
        waiting.set(slot, go);
        signal.addEventListener('abort', onAbort, { once: true });
      }),
    offer(news) {
      facts = news;
      counts = countPermits(news.values(), budget);
      for (const slot of inOrder()) {
        if (!take(slot)) continue;
        const go = waiting.get(slot)!;
        waiting.delete(slot);
        go();
      }
    },
  };
}
