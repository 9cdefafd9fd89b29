import type { MachineState } from '../states.ts';
import type { Usual } from './types.ts';

/** Of whose likes it is: where, and on which hardware. */
export interface StayPlace {
  readonly provider: string;
  /** Null: the provider did not tell. */
  readonly plan: string | null;
  readonly state: MachineState;
  readonly substate: string;
}

/** How long machines stayed in their places, as far as this daemon saw them come and go. */
export interface Stays {
  /** @param forMs how long it stayed. */
  note(place: StayPlace, forMs: number): void;
  /** Null: none of its likes was seen to leave the place. */
  usual(place: StayPlace): Usual | null;
}

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

export function createStays(): Stays {
  const places = new Map<string, Seen>();
  return {
    note(place, forMs) {
      const key = keyOf(place);
      const known = places.get(key);
      if (!known && places.size >= PLACES_MAX) return;
      const seen = known ?? { all: [], p95Ms: null };
      seen.all.push(forMs);
      seen.p95Ms = null;
      if (seen.all.length > SAMPLES_MAX) seen.all.shift();
      places.set(key, seen);
    },
    usual(place) {
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
