import { ABANDON_MS } from '../policy.ts';
import { isRung } from '../recovery/rungs.ts';
import type { MachineState } from '../states.ts';
import type { At } from './places.ts';
import type { ExplanationFacts, ExplanationMoment, Usual } from './types.ts';

/** With fewer samples nobody knows what is usual. */
export const SAMPLES_MIN = 20;
/** Agent start: the sum of its steps' own limits, and a look-up. */
const AGENT_START_MS = 3 * 60_000;
/** Installing by the provider, and deleting: what a slow vendor still needs. */
const PROVIDER_MS = 30 * 60_000;

/** Where a machine is, and what tells how long it may be there. */
export interface Timed extends Pick<At, 'state' | 'substate'> {
  readonly ladder: Pick<ExplanationFacts['ladder'], 'policy'>;
  readonly loss: ExplanationMoment['loss'];
}

/** How long its step may take; null: it may last for ever. */
export function stepLimitMs({ state, substate, ladder, loss }: Timed): number | null {
  switch (state) {
    case 'AgentStarting':
      return AGENT_START_MS;
    case 'Recovering':
      return isRung(substate) ? ladder.policy[substate].patienceMs : null;
    case 'Deprovisioning':
      return PROVIDER_MS;
    case 'Reserved':
      return substate === 'creating' ? ABANDON_MS : null;
    case 'Provisioned':
      return substate === 'installing' ? PROVIDER_MS : null;
    case 'Running':
      if (substate === 'awaitingHeartbeat') return loss.firstHeartbeatMs;
      return substate === 'installingOs' ? loss.handOutMs : null;
    default:
      return null;
  }
}

/** Longer there than its step's limit, and than twice what nineteen of twenty others took. */
export function isOverdue(
  at: Timed & { readonly usual: Usual | null; readonly nowMs: number },
  sinceMs: number | null,
): boolean {
  const { usual, nowMs } = at;
  const limitMs = stepLimitMs(at);
  if (limitMs === null || sinceMs === null || !usual || usual.samples < SAMPLES_MIN) return false;
  return nowMs - sinceMs > Math.max(limitMs, 2 * usual.p95Ms);
}

/** Of whose likes it is: where, and on which hardware. */
export interface StayPlace {
  readonly provider: string;
  /** Null: the provider did not tell. */
  readonly plan: string | null;
  readonly state: MachineState;
  readonly substate: string;
}

export type Stays = ReturnType<typeof createStays>;

/** Older ones are forgotten, for hardware and vendors change. */
const SAMPLES_MAX = 200;
/** Of providers and plans there are few; more places than this are none. */
const PLACES_MAX = 2_000;

/** What was seen at a place. */
interface Seen {
  readonly all: number[];
  /** Null: to be found out, for there is a new one. */
  p95Ms: number | null;
}

/** How long machines stayed in their places, as far as this daemon saw them come and go. */
export function createStays() {
  const places = new Map<string, Seen>();
  return {
    /** @param forMs how long it stayed. */
    note(place: StayPlace, forMs: number): void {
      const key = keyOf(place);
      const known = places.get(key);
      if (!known && places.size >= PLACES_MAX) return;
      const seen = known ?? { all: [], p95Ms: null };
      seen.all.push(forMs);
      seen.p95Ms = null;
      if (seen.all.length > SAMPLES_MAX) seen.all.shift();
      places.set(key, seen);
    },
    /** Null: none of its likes was seen to leave the place. */
    usual(place: StayPlace): Usual | null {
      const seen = places.get(keyOf(place));
      if (!seen) return null;
      seen.p95Ms ??= percentile(seen.all, 95);
      return { p95Ms: seen.p95Ms, samples: seen.all.length };
    },
  };
}

const keyOf = ({ provider, plan, state, substate }: StayPlace): string =>
  `${provider} ${plan ?? ''} ${state} ${substate}`;

/** The smallest sample that so many percent of all do not exceed. */
function percentile(samples: readonly number[], percent: number): number {
  const sorted = samples.toSorted((a, b) => a - b);
  return sorted[Math.ceil((percent / 100) * sorted.length) - 1]!;
}
