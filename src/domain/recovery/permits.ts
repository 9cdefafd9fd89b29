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

/** Who recovers now, as of some scan. A forecast only: the BMDB decides, when something is asked. */
interface PermitCounts {
  /** Whether one more machine may be interrupted there; one permit is kept for orders. */
  hasRoom(place: PermitPlace, isOrder: boolean): boolean;
  /** Counts one more, until the next news tell. */
  take(place: PermitPlace): void;
  /** What is known of these slots now; takes are forgotten. */
  update(slots: Iterable<Pick<SlotFacts, 'slot' | 'row'>>): void;
  /** By scope, those that were taken included; scopes without started machines are left out. */
  use(): readonly BudgetUse[];
  /** Permits held in the whole fleet, without those that were taken. */
  readonly held: number;
}

/** One scope. */
interface Tally {
  readonly scope: string;
  recovering: number;
  started: number;
  /** Let through, and not yet seen. */
  taken: number;
}
/** The fleet, a provider, and a location where there is one. */
type Tallies = readonly Tally[];
/** What one machine counts: where, and as what. One object for all that count the same. */
interface Share {
  readonly tallies: Tallies;
  readonly recovering: number;
}

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

/** Shares are of the machines that are started or being recovered, as in the BMDB's own check. */
export function countPermits(facts: Iterable<SlotFacts>, budget: RecoveryBudget): PermitCounts {
  const { tallies, tallyOf, at } = createTallies();
  const fleet = tallyOf(FLEET);
  const shares = new Map<Slot, Share>();
  const touched = new Set<Tally>();

  const count = ({ tallies: concerned, recovering }: Share, by: 1 | -1) => {
    for (const tally of concerned) {
      tally.started += by;
      tally.recovering += by * recovering;
    }
  };
  const put = ({ slot, row }: Pick<SlotFacts, 'slot' | 'row'>) => {
    const before = shares.get(slot);
    const after = row ? shareOf(row, at) : undefined;
    if (before === after) return;
    if (before) count(before, -1);
    if (after) {
      count(after, 1);
      shares.set(slot, after);
    } else {
      shares.delete(slot);
    }
  };
  const limitOf = (tally: Tally): number =>
    (tally === fleet ? fleetBudget : groupBudget)(budget, tally.started);

  for (const each of facts) put(each);
  return {
    get held() {
      return fleet.recovering;
    },
    hasRoom: (place, isOrder) =>
      at(place).alone.tallies.every(
        (tally) => tally.recovering + tally.taken < limitOf(tally) + (isOrder ? ORDERS_KEPT : 0),
      ),
    take(place) {
      for (const tally of at(place).alone.tallies) {
        tally.taken += 1;
        touched.add(tally);
      }
    },
    update(slots) {
      for (const tally of touched) tally.taken = 0;
      touched.clear();
      for (const each of slots) put(each);
    },
    use: () =>
      [...tallies.values()]
        .filter(({ started, taken }) => started + taken > 0)
        .map((tally) => ({
          scope: tally.scope,
          permits: tally.recovering + tally.taken,
          budget: limitOf(tally),
        })),
  };
}

/** The two ways in which a machine counts in one place. */
interface PlaceShares {
  readonly alone: Share;
  readonly recovering: Share;
}

function shareOf(row: MachineRow, at: (place: PermitPlace) => PlaceShares) {
  if (!row.provided || !(row.agentStarted || row.permit)) return undefined;
  const { alone, recovering } = at(row.provided);
  return row.permit ? recovering : alone;
}

/** Tallies by scope, and the shares of places, each made once. */
function createTallies() {
  const tallies = new Map<string, Tally>();
  const places = new Map<string, Map<string | null, PlaceShares>>();
  const tallyOf = (scope: string): Tally => {
    let tally = tallies.get(scope);
    if (!tally) tallies.set(scope, (tally = { scope, recovering: 0, started: 0, taken: 0 }));
    return tally;
  };
  const at = ({ provider, location }: PermitPlace): PlaceShares => {
    let ofProvider = places.get(provider);
    if (!ofProvider) places.set(provider, (ofProvider = new Map()));
    let found = ofProvider.get(location);
    if (!found) {
      const scopes = [FLEET, `provider ${provider}`];
      const all = location === null ? scopes : [...scopes, `location ${location}`];
      const concerned = all.map(tallyOf);
      found = {
        alone: { tallies: concerned, recovering: 0 },
        recovering: { tallies: concerned, recovering: 1 },
      };
      ofProvider.set(location, found);
    }
    return found;
  };
  return { tallies, tallyOf, at };
}
