import type { Slot } from '../ids.ts';
import type { MachineRow, SlotFacts } from '../machine.ts';
import { fleetBudget, groupBudget, ORDERS_KEPT, type RecoveryBudget } from '../policy.ts';
import { FLEET } from './guard-judgement.ts';

/** The budget scopes of a machine: the fleet, its provider, its location. */
interface PermitPlace {
  readonly provider: string;
  readonly location: string | null;
}

/** Use of the budget in one scope. */
export interface BudgetUse {
  /** `fleet`, `provider <name>`, or `location <name>`. */
  readonly scope: string;
  readonly permits: number;
  readonly budget: number;
}

/** The budget's name of a guard scope, which is `fleet` or a provider. */
export const budgetScope = (scope: string): string =>
  scope === FLEET ? scope : `provider ${scope}`;

/**
 * Whether the machine may be switched off by us, or holds the permit of an unfinished request. If
 * the requesting daemon is gone, another daemon must finish the work, whatever the guard says.
 */
export function isUnderWay({ permit, recovery }: Pick<MachineRow, 'permit' | 'recovery'>): boolean {
  if (!recovery) return false;
  const { askedAtMs, nextAtMs, powerOffAskedAtMs } = recovery;
  if (powerOffAskedAtMs !== null) return true;
  return permit && askedAtMs !== null && !(nextAtMs !== null && nextAtMs > askedAtMs);
}

/** Machines of one scope that are started or in recovery, and those in recovery. */
interface Tally {
  started: number;
  recovering: number;
}

/**
 * Machines in recovery, as of the last scan. A forecast only: the BMDB decides at each request.
 * Shares are of the machines that are started or in recovery, as in the BMDB's own check.
 */
export function countPermits(facts: Iterable<SlotFacts>, budget: RecoveryBudget) {
  const counted = new Map<Slot, MachineRow>();
  /** Permits taken but not yet seen in rows, by scope. */
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
  // Every change of a large fleet arrives here, so only changed slots are recounted.
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
    /** Permits held in the whole fleet, without permits that were taken since the last update. */
    get held(): number {
      return tallyOf(FLEET).recovering;
    },
    /** Whether one more machine may be interrupted there; one permit is reserved for orders. */
    hasRoom: (place: PermitPlace, isOrder: boolean): boolean =>
      scopesOf(place).every(
        (scope) => usedIn(scope) < limitOf(scope) + (isOrder ? ORDERS_KEPT : 0),
      ),
    /** Counts one more permit until the next update. */
    take(place: PermitPlace): void {
      for (const scope of scopesOf(place)) taken.set(scope, takenIn(scope) + 1);
    },
    /** Updates these slots; forgets taken permits. */
    update(slots: Iterable<Pick<SlotFacts, 'slot' | 'row'>>): void {
      taken.clear();
      for (const each of slots) put(each);
    },
    /** Use by scope, including taken permits; leaves out scopes without started machines. */
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
