import { Cancelled } from '../../domain/errors.ts';
import { bySeniority, isLadder, seniorityOf } from '../../domain/eligibility.ts';
import type { Slot } from '../../domain/ids.ts';
import type { MachineRow, SlotFacts } from '../../domain/machine.ts';
import { countPermits, isUnderWay, type BudgetUse } from '../../domain/recovery/permits.ts';
import type { RecoveryBudget } from '../../domain/policy.ts';

/**
 * Lets silent machines wait until the guard lets them through and, where the next step interrupts
 * them, until there is room in the recovery budget; the oldest attempt first.
 */
export interface PermitQueue {
  /** Resolves when there seems to be room; the BMDB still decides. */
  wait(slot: Slot, signal: AbortSignal): Promise<void>;
  /**
   * The machine was claimed and got no further, as the guard or the budget was against it. As long as
   * nothing is heard or asked of it since, it waits for the guard like any other and, if it turned out
   * to need a permit, for room, whatever its ladder says of the next step.
   */
  missed(slot: Slot, neededPermit: boolean): void;
  /** Whether the machine, which holds none, needs a permit next, as far as is known. */
  needsPermit(slot: Slot): boolean;
  /**
   * News of the fleet: whoever now has room goes on.
   * @param changed slots of which something else is known than before; absent: any.
   */
  offer(facts: ReadonlyMap<Slot, SlotFacts>, changed?: Iterable<Slot>): void;
  /** News of the guard: whoever it lets through now goes on. Only those that wait are considered. */
  reconsider(): void;
  /** How the budget is used, by scope; those let through a moment ago included. */
  use(): readonly BudgetUse[];
  /** Those that wait now, in no order. */
  waiting(): Iterable<Slot>;
  /** The most permits that were held at once, as far as was seen. */
  readonly heldMax: number;
}

interface PermitQueueOptions {
  readonly budget: RecoveryBudget;
  /** Why the guard lets no machine of the provider through; null: it does. */
  readonly barOf: (provider: string, isOrder: boolean) => string | null;
  /** Whether the next step on the machine interrupts it, as far as its rows can tell. */
  readonly interrupts: (facts: SlotFacts) => boolean;
}

export function createPermitQueue({ budget, barOf, interrupts }: PermitQueueOptions): PermitQueue {
  const waiting = new Map<Slot, () => void>();
  const missed = new Map<Slot, { readonly standing: string; readonly neededPermit: boolean }>();
  /** Let through because there was room, and not seen to hold a permit yet. */
  const passed = new Set<Slot>();
  let facts: ReadonlyMap<Slot, SlotFacts> = new Map();
  let counts = countPermits([], budget);
  let heldMax = 0;

  /**
   * The machine, if the guard lets it through and there seems to be room. What was asked for already
   * is brought to its end whatever the guard says: the machine may be switched off.
   */
  const passing = (slot: Slot, bars: typeof barOf = barOf): MachineRow | null => {
    const row = facts.get(slot)?.row;
    if (!row?.provided) return null;
    if (isUnderWay(row) && missOf(slot) === null) return row;
    if (bars(row.provided.provider, row.order !== null) !== null) return null;
    return counts.hasRoom(row.provided, row.order !== null) || !needsPermit(slot) ? row : null;
  };
  const missOf = (slot: Slot) => {
    const miss = missed.get(slot);
    const row = facts.get(slot)?.row;
    return miss && row && miss.standing === standingOf(row) ? miss : null;
  };
  const needsPermit = (slot: Slot): boolean => {
    const found = facts.get(slot);
    if (!found?.row || found.row.permit) return false;
    return missOf(slot)?.neededPermit === true || interrupts(found);
  };
  const take = (slot: Slot): boolean => {
    const row = passing(slot);
    if (!row?.provided) return false;
    if (!isUnderWay(row) && needsPermit(slot)) {
      counts.take(row.provided);
      passed.add(slot);
    }
    missed.delete(slot);
    return true;
  };
  /** From the claim to the permit the machine is looked at, which may take minutes: its room is taken. */
  const keepTaken = () => {
    for (const slot of passed) {
      const row = facts.get(slot)?.row;
      const isAboutToAsk = row && !row.permit && row.work.some(({ process }) => isLadder(process));
      if (isAboutToAsk && row.provided) counts.take(row.provided);
      else passed.delete(slot);
    }
  };
  /** Many may wait and few pass: only those that would pass now are put into an order. */
  const letThrough = () => {
    const bars = remembered(barOf);
    const candidates = [...waiting.keys()].flatMap((slot) => {
      const row = passing(slot, bars);
      return row ? [{ slot, ...seniorityOf('ShepherdRecovery', row) }] : [];
    });
    for (const { slot } of candidates.toSorted(bySeniority)) {
      if (!take(slot)) continue;
      const go = waiting.get(slot)!;
      waiting.delete(slot);
      go();
    }
  };

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
    missed(slot, neededPermit) {
      const row = facts.get(slot)?.row;
      if (row) missed.set(slot, { standing: standingOf(row), neededPermit });
    },
    needsPermit,
    offer(news, changed) {
      facts = news;
      if (changed) counts.update([...changed].flatMap((slot) => news.get(slot) ?? []));
      else counts = countPermits(news.values(), budget);
      keepTaken();
      heldMax = Math.max(heldMax, counts.held);
      letThrough();
    },
    reconsider: letThrough,
    use: () => counts.use(),
    waiting: () => waiting.keys(),
    get heldMax() {
      return heldMax;
    },
  };
}

/** Other than this once the machine is heard again, or something is asked of it. */
const standingOf = ({ heartbeat, recovery }: MachineRow): string =>
  [heartbeat?.atMs, recovery?.askedAtMs, recovery?.powerOffAskedAtMs].join(' ');

/** Gives the same answers, and asks for each of them once. */
function remembered(barOf: PermitQueueOptions['barOf']): PermitQueueOptions['barOf'] {
  const known = new Map<string, string | null>();
  return (provider, isOrder) => {
    const key = `${provider} ${isOrder}`;
    let bar = known.get(key);
    if (bar === undefined) known.set(key, (bar = barOf(provider, isOrder)));
    return bar;
  };
}
