import type { Slot } from '../ids.ts';
import type { MachineRow, SlotFacts } from '../machine.ts';
import { fleetBudget, groupBudget, ORDERS_KEPT, type RecoveryBudget } from '../policy.ts';
import { FLEET } from './guard-judgement.ts';

/** Where a machine counts against the budget: the fleet, its provider, its location. */
interface PermitPlace {
  readonly provider: string;
  readonly location: string | null;
}

/** How the budget of one scope is used. */
export interface BudgetUse {
  /** `fleet`, `provider <name>`, or `location <name>`. */
  readonly scope: string;
  readonly permits: number;
  readonly budget: number;
}

/** A scope of the guard, `fleet` or a provider, as the budget calls it. */
export const budgetScope = (scope: string): string =>
  scope === FLEET ? scope : `provider ${scope}`;

/**
 * The machine may be switched off by us, or it holds a permit under which a request was made that has
 * not ended. The daemon that asked is gone: another one has to finish it, whatever the guard says.
 */
export function isUnderWay({ permit, recovery }: Pick<MachineRow, 'permit' | 'recovery'>): boolean {
  if (!recovery) return false;
  const { askedAtMs, nextAtMs, powerOffAskedAtMs } = recovery;
  if (powerOffAskedAtMs !== null) return true;
  return permit && askedAtMs !== null && !(nextAtMs !== null && nextAtMs > askedAtMs);
}

/** How many machines of one scope count as started or being recovered, and as being recovered. */
interface Tally {
  started: number;
  recovering: number;
}

/**
 * Who recovers now, as of some scan. A forecast only: the BMDB decides, when something is asked.
 * Shares are of the machines that are started or being recovered, as in the BMDB's own check.
 */
export function countPermits(facts: Iterable<SlotFacts>, budget: RecoveryBudget) {
  const counted = new Map<Slot, MachineRow>();
  /** Let through, and not yet seen, by scope. */
  const taken = new Map<string, number>();
  const tallies = new Map<string, Tally>();

  const tallyOf = (scope: string): Tally => tallies.get(scope) ?? { started: 0, recovering: 0 };
  const count = ({ provided, permit }: MachineRow, by: 1 | -1) => {
    for (const scope of scopesOf(provided!)) {
      const tally = tallyOf(scope);
      tallies.set(scope, tally);
      tally.started += by;
      tally.recovering += by * Number(permit);
    }
  };
  // Every news of a large fleet comes here: only what changed is counted anew.
  const put = ({ slot, row }: Pick<SlotFacts, 'slot' | 'row'>) => {
    const before = counted.get(slot);
    if (before) count(before, -1);
    counted.delete(slot);
    if (!row?.provided || !(row.agentStarted || row.permit)) return;
    counted.set(slot, row);
    count(row, 1);
  };
  const takenIn = (scope: string): number => taken.get(scope) ?? 0;
  const limitOf = (scope: string): number =>
    (scope === FLEET ? fleetBudget : groupBudget)(budget, tallyOf(scope).started);
  const usedIn = (scope: string): number => tallyOf(scope).recovering + takenIn(scope);

  for (const each of facts) put(each);
  return {
    /** Permits held in the whole fleet, without those that were taken. */
    get held(): number {
      return tallyOf(FLEET).recovering;
    },
    /** Whether one more machine may be interrupted there; one permit is kept for orders. */
    hasRoom: (place: PermitPlace, isOrder: boolean): boolean =>
      scopesOf(place).every(
        (scope) => usedIn(scope) < limitOf(scope) + (isOrder ? ORDERS_KEPT : 0),
      ),
    /** Counts one more, until the next news tell. */
    take(place: PermitPlace): void {
      for (const scope of scopesOf(place)) taken.set(scope, takenIn(scope) + 1);
    },
    /** What is known of these slots now; takes are forgotten. */
    update(slots: Iterable<Pick<SlotFacts, 'slot' | 'row'>>): void {
      taken.clear();
      for (const each of slots) put(each);
    },
    /** By scope, those that were taken included; scopes without started machines are left out. */
    use(): readonly BudgetUse[] {
      const scopes = new Set([...tallies.keys(), ...taken.keys()]);
      return [...scopes]
        .filter((scope) => tallyOf(scope).started + takenIn(scope) > 0)
        .map((scope) => ({ scope, permits: usedIn(scope), budget: limitOf(scope) }));
    },
  };
}

const scopesOf = ({ provider, location }: PermitPlace): readonly string[] => [
  ...[FLEET, `provider ${provider}`],
  ...(location === null ? [] : [`location ${location}`]),
];
