import { ABANDON_MS } from '../policy.ts';
import { isRung } from '../recovery/rungs.ts';
import type { MachineState } from '../states.ts';
import type { At } from './places.ts';
import type { ExplanationFacts, ExplanationMoment, Usual } from './types.ts';

/** With fewer samples, the usual duration is unknown. */
export const SAMPLES_MIN = 20;
/** Agent start: the sum of its steps' limits, plus one lookup. */
const AGENT_START_MS = 3 * 60_000;
/** Installation and deletion by the provider: the time that a slow vendor needs. */
const PROVIDER_MS = 30 * 60_000;

/** A machine's state and the policies that limit its duration. */
export interface Timed extends Pick<At, 'state' | 'substate'> {
  readonly ladder: Pick<ExplanationFacts['ladder'], 'policy'>;
  readonly loss: ExplanationMoment['loss'];
}

/** Time limit of the machine's step; null: no limit. */
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

/** Whether the machine exceeds its step's limit and twice the usual 95th percentile. */
export function isOverdue(
  at: Timed & { readonly usual: Usual | null; readonly nowMs: number },
  sinceMs: number | null,
): boolean {
  const { usual, nowMs } = at;
  const limitMs = stepLimitMs(at);
  if (limitMs === null || sinceMs === null || !usual || usual.samples < SAMPLES_MIN) return false;
  return nowMs - sinceMs > Math.max(limitMs, 2 * usual.p95Ms);
}

/** A group of comparable machines: their state and their hardware. */
export interface StayPlace {
  readonly provider: string;
  /** Null: the provider did not say. */
  readonly plan: string | null;
  readonly state: MachineState;
  readonly substate: string;
}

export type Stays = ReturnType<typeof createStays>;

/** Older samples are forgotten, because hardware and vendors change. */
const SAMPLES_MAX = 200;
/** Most groups kept. Real fleets have few providers and plans. */
const PLACES_MAX = 2_000;

/** Samples of one group. */
interface PlaceTimes {
  readonly all: number[];
  /** Null: outdated by a new sample. */
  p95Ms: number | null;
}

/** Records how long machines stayed in a state, as far as this daemon saw it. */
export function createStays() {
  const places = new Map<string, PlaceTimes>();
  return {
    /** @param forMs duration of the stay. */
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
    /** Null: no comparable machine was seen to leave the state. */
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

/** The smallest sample that this percentage of all samples does not exceed. There must be samples. */
export function percentile(samples: readonly number[], percent: number): number {
  const sorted = samples.toSorted((a, b) => a - b);
  return sorted[Math.ceil((percent / 100) * sorted.length) - 1]!;
}
