import {
  createFaultBook,
  type FaultBook,
  type RuleSubject,
  type Strike as StrikeOf,
} from '../../kit/fault-book.ts';
import type { State } from '../state/state.ts';
import type { Generator as Chance } from '../../kit/random.ts';
import {
  parseFaultRule,
  type Fault,
  type FaultEffect,
  type FaultMatch,
  type FaultRule,
} from '../fault-rules.ts';

/** What rules look at. */
export interface FaultSubject extends RuleSubject {
  readonly deviceId?: string | undefined;
  readonly reservationId?: string | undefined;
  readonly token?: string | undefined;
}

export type EffectOf<T extends FaultEffect['type']> = Extract<FaultEffect, { type: T }>;
export type Strike<T extends FaultEffect['type']> = StrikeOf<EffectOf<T>>;

export interface Faults extends Omit<FaultBook<FaultMatch, FaultEffect, FaultSubject>, 'add'> {
  /** A rule with a known id replaces that one. @throws {ZodError} when it cannot be understood. */
  add(rule: FaultRule): Fault;
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
  const book = createFaultBook<FaultMatch, FaultEffect, FaultSubject>({
    store: state,
    chance,
    changed,
    once: ONCE,
  });
  return { ...book, add: (input) => book.add(parseFaultRule(input)) };
}
