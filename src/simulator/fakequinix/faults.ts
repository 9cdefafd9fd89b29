import type { Generator as Chance } from './random.ts';
import { parseFaultRule, type Fault, type FaultEffect, type FaultRule } from './fault-rules.ts';

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
  /** @throws {ZodError} for a rule that cannot be understood. */
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

type Live = { -readonly [K in keyof Fault]: Fault[K] };

/** Types that mean one single occasion when `times` is absent. */
const ONCE = new Set<FaultEffect['type']>([
  'race',
  'keyCreate404',
  'tokenRevoked',
  'stuck',
  'failProvisioning',
]);

export function createFaults(chance: Chance): Faults {
  const rules = new Map<string, Live>();
  let lastId = 0;
  const hits = (rule: Live): boolean => {
    rule.seen++;
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
    for (const rule of rules.values()) {
      if (!(types as readonly string[]).includes(rule.effect.type)) continue;
      const effect = rule.effect as EffectOf<T>;
      if (matches(rule, subject) && fits(effect) && hits(rule)) yield { id: rule.id, effect };
    }
    return undefined;
  }
  return {
    add: (input) => {
      const parsed = parseFaultRule(input);
      const rule: Live = {
        id: parsed.id ?? `fault-${++lastId}`,
        match: parsed.match ?? {},
        times: parsed.times ?? (ONCE.has(parsed.effect.type) ? 1 : null),
        effect: parsed.effect,
        seen: 0,
        applied: 0,
      };
      rules.set(rule.id, rule);
      return rule;
    },
    list: () => [...rules.values()].map((rule) => ({ ...rule })),
    remove: (id) => rules.delete(id),
    clear: () => rules.clear(),
    strike: (types, subject, fits) => [...strikes(types, subject, fits)],
    strikeOne: (types, subject, fits) => strikes(types, subject, fits).next().value,
  };
}

function matches({ match }: Live, subject: FaultSubject): boolean {
  const differs = (wanted: string | undefined, actual: string | undefined) =>
    wanted !== undefined && wanted !== actual;
  return !(
    differs(match.method?.toUpperCase(), subject.method) ||
    differs(match.route && shape(match.route), shape(subject.route)) ||
    differs(match.deviceId, subject.deviceId) ||
    differs(match.reservationId, subject.reservationId) ||
    differs(match.token, subject.token)
  );
}

/** Placeholders have no names when routes are compared. */
const shape = (route: string) => route.replace(/\{[^}]*\}|:[A-Za-z]\w*/g, '{}').replace(/\/$/, '');
