import type { SlotFacts } from '../machine.ts';
import { fleetBudget, groupBudget, type RecoveryBudget } from '../policy.ts';

/** Where a machine counts against the budget: the fleet, its provider, its location. */
export interface PermitPlace {
  readonly provider: string;
  readonly location: string | null;
}

interface Tally {
  recovering: number;
  started: number;
}

/** Who recovers now, as of some scan. A forecast only: the BMDB decides, in the claim. */
export interface PermitCounts {
  /** Whether one more may recover there. */
  hasRoom(place: PermitPlace): boolean;
  /** Counts one more, until the next scan tells. */
  take(place: PermitPlace): void;
}

const FLEET = 'fleet';
const scopesOf = ({ provider, location }: PermitPlace): string[] => [
  FLEET,
  `provider ${provider}`,
  ...(location === null ? [] : [`location ${location}`]),
];

/** Shares are of the machines that are started or being recovered, as in the BMDB's own check. */
export function countPermits(facts: Iterable<SlotFacts>, budget: RecoveryBudget): PermitCounts {
  const tallies = new Map<string, Tally>();
  const at = (scope: string): Tally => {
    let tally = tallies.get(scope);
    if (!tally) tallies.set(scope, (tally = { recovering: 0, started: 0 }));
    return tally;
  };
  for (const { row } of facts) {
    if (!row?.provided || !(row.agentStarted || row.permit)) continue;
    for (const scope of scopesOf(row.provided)) {
      at(scope).started += 1;
      if (row.permit) at(scope).recovering += 1;
    }
  }
  return {
    hasRoom: (place) =>
      scopesOf(place).every((scope) => {
        const { recovering, started } = at(scope);
        const limit = scope === FLEET ? fleetBudget : groupBudget;
        return recovering < limit(budget, started);
      }),
    take: (place) => {
      for (const scope of scopesOf(place)) at(scope).recovering += 1;
    },
  };
}
