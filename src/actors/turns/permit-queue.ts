import { Cancelled } from '../../domain/errors.ts';
import { isLadder } from '../../domain/eligibility.ts';
import { bySeniority, seniorityOf } from '../../domain/seniority.ts';
import type { Slot } from '../../domain/ids.ts';
import type { MachineRow, SlotFacts } from '../../domain/machine.ts';
import { countPermits, isUnderWay, type BudgetUse } from '../../domain/recovery/permits.ts';
import type { RecoveryBudget } from '../../domain/policy.ts';

/**
 * Holds silent machines back until the guard admits them and, if the next step interrupts them, the
 * recovery budget has room; the oldest attempt first.
 */
export interface PermitQueue {
  /** Resolves when there seems to be room; the BMDB decides. */
  wait(slot: Slot, signal: AbortSignal): Promise<void>;
  /**
   * The guard or the budget stopped the machine after its claim. Until its next heartbeat or
   * request, the machine waits for the guard like the others. If it needed a permit, it also waits
   * for room, whatever its ladder says next.
   */
  missed(slot: Slot, neededPermit: boolean): void;
  /** Whether the machine, without a permit now, needs one next, as far as is known. */
  needsPermit(slot: Slot): boolean;
  /**
   * News of the fleet: admits machines that now have room.
   * @param changed slots whose facts changed; absent: any.
   */
  offer(facts: ReadonlyMap<Slot, SlotFacts>, changed?: Iterable<Slot>): void;
  /** News of the guard: admits waiting machines that the guard now allows. */
  reconsider(): void;
  /** Use of the budget by scope, including machines admitted a moment ago. */
  use(): readonly BudgetUse[];
  /** Waiting machines, in no order. */
  waiting(): Iterable<Slot>;
  /** The largest observed number of permits held at once. */
  readonly heldMax: number;
}

interface PermitQueueOptions {
  readonly budget: RecoveryBudget;
  /** Why the guard admits no machine of the provider; null: it does. */
  readonly barOf: (provider: string, isOrder: boolean) => string | null;
  /** Whether the machine's next step interrupts it, as far as its rows tell. */
  readonly interrupts: (facts: SlotFacts) => boolean;
}

export function createPermitQueue({ budget, barOf, interrupts }: PermitQueueOptions): PermitQueue {
  const waiting = new Map<Slot, () => void>();
  const missed = new Map<Slot, { readonly standing: string; readonly neededPermit: boolean }>();
  /** Admitted because of room, and not yet seen with a permit. */
  const passed = new Set<Slot>();
  let facts: ReadonlyMap<Slot, SlotFacts> = new Map();
  let counts = countPermits([], budget);
  let heldMax = 0;

  /**
   * The machine's row, if the guard admits it and there seems to be room. Work with a request
   * already made is completed whatever the guard says: the machine may be switched off.
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
  /** Between claim and permit, the machine is probed, perhaps for minutes: its room is taken. */
  const keepTaken = () => {
    for (const slot of passed) {
      const row = facts.get(slot)?.row;
      const isAboutToAsk = row && !row.permit && row.work.some(({ process }) => isLadder(process));
      if (isAboutToAsk && row.provided) counts.take(row.provided);
      else passed.delete(slot);
    }
  };
  /** Many machines may wait while few pass: only those that would pass now are sorted. */
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

/** Changes once the machine is heard again or a request is made. */
const standingOf = ({ heartbeat, recovery }: MachineRow): string =>
  [heartbeat?.atMs, recovery?.askedAtMs, recovery?.powerOffAskedAtMs].join(' ');

/** Caches the answers. */
function remembered(barOf: PermitQueueOptions['barOf']): PermitQueueOptions['barOf'] {
  const known = new Map<string, string | null>();
  return (provider, isOrder) => {
    const key = `${provider} ${isOrder}`;
    let bar = known.get(key);
    if (bar === undefined) known.set(key, (bar = barOf(provider, isOrder)));
    return bar;
  };
}
