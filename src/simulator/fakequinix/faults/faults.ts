import type { FaultRecord, State } from '../state/state.ts';
import type { Generator as Chance } from '../time/random.ts';
import {
  parseFaultRule,
  shapeOf,
  type Fault,
  type FaultEffect,
  type FaultRule,
} from '../fault-rules.ts';

/** What rules look at. */
export interface FaultSubject {
  readonly method: string;
  /** With placeholders. */
  readonly route: string;
  readonly deviceId?: string | undefined;
  readonly reservationId?: string | undefined;
  readonly token?: string | undefined;
}

export type EffectOf<T extends FaultEffect['type']> = Extract<FaultEffect, { type: T }>;

export interface Faults {
  /** A rule with a known id replaces that one. @throws {ZodError} when it cannot be understood. */
  add(rule: FaultRule): Fault;
  list(): readonly Fault[];
  remove(id: string): boolean;
  clear(): void;
  /**
   * The effects of the given types that hit this occasion, in the order of the rules' creation.
   * Counts it; `fits` narrows down before counting.
   */
  strike<T extends FaultEffect['type']>(
    types: readonly T[],
    subject: FaultSubject,
    fits?: (effect: EffectOf<T>) => boolean,
  ): Strike<T>[];
  /** As `strike`, but only the first rule that hits; later ones do not count the occasion. */
  strikeOne<T extends FaultEffect['type']>(
    types: readonly T[],
    subject: FaultSubject,
    fits?: (effect: EffectOf<T>) => boolean,
  ): Strike<T> | undefined;
}

export interface Strike<T extends FaultEffect['type']> {
  readonly id: string;
  readonly effect: EffectOf<T>;
}

/** Types that mean one single occasion when `times` is absent. */
const ONCE = new Set<FaultEffect['type']>([
  'race',
  'keyCreate404',
  'tokenRevoked',
  'stuck',
  'failProvisioning',
]);

/**
 * The rules live in the state, counters included, so that a restart changes nothing. `changed` is
 * called after each change of theirs.
 */
export function createFaults(
  state: Pick<State, 'faults' | 'faultCount'>,
  chance: Chance,
  changed: () => void,
): Faults {
  const hits = (rule: FaultRecord): boolean => {
    rule.seen++;
    changed();
    const { nth, every, probability } = rule.match;
    if (rule.times !== null && rule.applied >= rule.times) return false;
    if (nth !== undefined && rule.seen !== nth) return false;
    if (every !== undefined && rule.seen % every !== 0) return false;
    if (probability !== undefined && chance.next() >= probability) return false;
    rule.applied++;
    return true;
  };
  function* strikes<T extends FaultEffect['type']>(
    types: readonly T[],
    subject: FaultSubject,
    fits: (effect: EffectOf<T>) => boolean = () => true,
  ): Generator<Strike<T>, undefined> {
    for (const rule of state.faults) {
      if (!(types as readonly string[]).includes(rule.effect.type)) continue;
      const effect = rule.effect as EffectOf<T>;
      if (matches(rule, subject) && fits(effect) && hits(rule)) yield { id: rule.id, effect };
    }
    return undefined;
  }
  const remove = (id: string): boolean => {
    const before = state.faults.length;
    state.faults = state.faults.filter((rule) => rule.id !== id);
    changed();
    return state.faults.length < before;
  };
  return {
    add: (input) => {
      const { id, match, times, effect } = parseFaultRule(input);
      const rule: FaultRecord = {
        id: id ?? `fault-${++state.faultCount}`,
        match: match ?? {},
        times: times ?? (ONCE.has(effect.type) ? 1 : null),
        effect,
        seen: 0,
        applied: 0,
      };
      remove(rule.id);
      state.faults.push(rule);
      return rule;
    },
    list: () => state.faults.map((rule) => ({ ...rule })),
    remove,
    clear: () => {
      state.faults = [];
      changed();
    },
    strike: (types, subject, fits) => [...strikes(types, subject, fits)],
    strikeOne: (types, subject, fits) => strikes(types, subject, fits).next().value,
  };
}

function matches({ match }: FaultRecord, subject: FaultSubject): boolean {
  const differs = (wanted: string | undefined, actual: string | undefined) =>
    wanted !== undefined && wanted !== actual;
  return !(
    differs(match.method?.toUpperCase(), subject.method) ||
    differs(match.route && shapeOf(match.route), shapeOf(subject.route)) ||
    differs(match.deviceId, subject.deviceId) ||
    differs(match.reservationId, subject.reservationId) ||
    differs(match.token, subject.token)
  );
}
