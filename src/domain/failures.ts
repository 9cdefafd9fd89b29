import { percentile } from './explanation/overdue.ts';
import { slot as slotName, type MachineId, type ProviderName, type Slot } from './ids.ts';

/** Failures of machines by kind, from the recorded recoveries. Times are epoch ms of the database. */

/** Properties that group machines. */
export const FAILURE_KINDS = ['plan', 'location', 'provider', 'model'] as const;
export type FailureKind = (typeof FAILURE_KINDS)[number];

/** A recovery of a physical machine, from its first attempt on. */
export interface Episode {
  readonly provider: ProviderName;
  readonly slotId: string;
  /** Machine on the slot at that time. It may be gone. */
  readonly machineId: MachineId;
  /** Null: unknown. */
  readonly location: string | null;
  readonly silentSinceMs: number;
  readonly beganAtMs: number;
  /** Rung of the last attempt, which brought the machine back if `healedAtMs` is set. */
  readonly rung: string;
  readonly attempts: number;
  /** First heartbeat after the recovery; null: none yet. */
  readonly healedAtMs: number | null;
  /** Null: the episode lasts. */
  readonly endedAtMs: number | null;
}

/** A slot as it is now. A null property is unknown. */
export interface KnownSlot {
  readonly slot: Slot;
  /** Null: the slot has no machine. */
  readonly machine: { readonly id: MachineId; readonly createdAtMs: number } | null;
  readonly kinds: Readonly<Record<FailureKind, string | null>>;
  /** The slot is never used again. */
  readonly isRetired: boolean;
}

/** Failures of one group of machines. */
export interface FailureSums {
  /** Machines that exist now. */
  readonly machines: number;
  /** Age of these machines within the window, in days. */
  readonly machineDays: number;
  readonly episodes: number;
  /** Episodes of machines that no longer exist. The rate leaves them out, because their days are unknown. */
  readonly gone: number;
  /** Episodes per 100 machine-days; null: there are no machine-days. */
  readonly rate: number | null;
  /** The rate divided by the rate of the fleet; null: one of them is unknown or the fleet's is 0. */
  readonly ratio: number | null;
  /** Healed episodes by rung. */
  readonly healedBy: Readonly<Record<string, number>>;
  /** Episodes without a heartbeat that ended them, also those that last. */
  readonly unhealed: number;
  /** Time from silence to the first heartbeat, by nearest rank; null: nothing was healed. */
  readonly repairP50Ms: number | null;
  readonly repairP95Ms: number | null;
  /** Slots that are never used again. */
  readonly retired: number;
}
export interface FailureGroup extends FailureSums {
  readonly name: string;
}
export interface Failures {
  readonly fleet: FailureSums;
  /** The most frequent failures first. */
  readonly groups: readonly FailureGroup[];
}

/** Name of the group whose property is unknown. */
export const UNKNOWN_KIND = 'unknown';
const DAY_MS = 86_400_000;

export interface FailureInput {
  readonly by: FailureKind;
  readonly sinceMs: number;
  readonly nowMs: number;
  readonly slots: Iterable<KnownSlot>;
  /** Episodes since `sinceMs`. */
  readonly episodes: readonly Episode[];
}

/**
 * Groups the failures of a fleet. An episode counts for the group that its slot has now. An episode of
 * a slot that is gone counts for its own provider or location; its plan and model are unknown.
 */
export function failuresBy({ by, sinceMs, nowMs, slots, episodes }: FailureInput): Failures {
  const drafts = new Map<string, Draft>();
  const fleet = emptyDraft();
  const both = (name: string | null): readonly Draft[] => {
    const key = name ?? UNKNOWN_KIND;
    const found = drafts.get(key) ?? emptyDraft();
    drafts.set(key, found);
    return [fleet, found];
  };
  const known = new Map<Slot, KnownSlot>();
  for (const each of slots) {
    const { slot, machine, kinds, isRetired } = each;
    known.set(slot, each);
    if (machine === null && !isRetired) continue;
    for (const draft of both(kinds[by])) {
      if (isRetired) draft.retired += 1;
      if (machine === null) continue;
      draft.machines += 1;
      draft.livedMs += Math.max(0, nowMs - Math.max(sinceMs, machine.createdAtMs));
    }
  }
  for (const episode of episodes) {
    const at = known.get(slotName(episode.provider, episode.slotId));
    const isGone = at?.machine?.id !== episode.machineId;
    for (const draft of both(at ? at.kinds[by] : ownKind(episode, by))) {
      draft.episodes.push(episode);
      if (isGone) draft.gone += 1;
    }
  }
  const whole = rateOf(fleet);
  const groups = [...drafts].map(([name, draft]) => ({ name, ...sumsOf(draft, whole) }));
  return { fleet: sumsOf(fleet, whole), groups: groups.toSorted(worstFirst) };
}

const emptyDraft = () => ({
  ...{ machines: 0, livedMs: 0, retired: 0, gone: 0 },
  episodes: [] as Episode[],
});
type Draft = ReturnType<typeof emptyDraft>;

const ownKind = ({ provider, location }: Episode, by: FailureKind): string | null =>
  by === 'provider' ? provider : by === 'location' ? location : null;

const rateOf = ({ livedMs, episodes, gone }: Draft): number | null =>
  livedMs > 0 ? (100 * (episodes.length - gone)) / (livedMs / DAY_MS) : null;

function sumsOf(draft: Draft, whole: number | null): FailureSums {
  const { machines, livedMs, episodes, gone, retired } = draft;
  const rate = rateOf(draft);
  const healedBy: Record<string, number> = {};
  const repairs: number[] = [];
  for (const { rung, silentSinceMs, healedAtMs } of episodes) {
    if (healedAtMs === null) continue;
    healedBy[rung] = (healedBy[rung] ?? 0) + 1;
    repairs.push(Math.max(0, healedAtMs - silentSinceMs));
  }
  const repairedWithin = (percent: number) =>
    repairs.length > 0 ? percentile(repairs, percent) : null;
  return {
    ...{ machines, machineDays: livedMs / DAY_MS, episodes: episodes.length, gone, rate },
    ratio: rate === null || !whole ? null : rate / whole,
    ...{ healedBy, unhealed: episodes.length - repairs.length, retired },
    ...{ repairP50Ms: repairedWithin(50), repairP95Ms: repairedWithin(95) },
  };
}

const worstFirst = (a: FailureGroup, b: FailureGroup): number =>
  (b.ratio ?? -1) - (a.ratio ?? -1) || b.episodes - a.episodes || (a.name < b.name ? -1 : 1);
