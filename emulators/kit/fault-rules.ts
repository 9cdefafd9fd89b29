/** What a rule matches in a request, besides the emulator's own fields. */
export interface RuleMatch {
  readonly method?: string | undefined;
  /** With placeholders, whose names do not matter. */
  readonly route?: string | undefined;
  /** Only the n-th matching request, counted from 1. */
  readonly nth?: number | undefined;
  /** Every n-th matching request. */
  readonly every?: number | undefined;
  readonly probability?: number | undefined;
}

/** An active rule. `seen` requests matched, and it struck `applied` times. */
export interface ActiveRule<Match extends RuleMatch, Effect> {
  readonly id: string;
  readonly match: Match;
  readonly times: number | null;
  readonly effect: Effect;
  seen: number;
  applied: number;
}

/** A requested rule. */
export interface RequestedRule<Match, Effect> {
  readonly id?: string | undefined;
  readonly match?: Match | undefined;
  readonly times?: number | undefined;
  readonly effect: Effect;
}

export interface RuleSubject {
  readonly method: string;
  /** With placeholders. */
  readonly route: string;
}

interface Typed {
  readonly type: string;
}
type EffectIn<Effect extends Typed, T> = Extract<Effect, { type: T }>;

export interface AppliedRule<Effect> {
  readonly id: string;
  readonly effect: Effect;
}

export interface FaultRules<Match extends RuleMatch, Effect extends Typed, Subject> {
  /** A rule with a known id replaces the old rule. */
  add(rule: RequestedRule<Match, Effect>): ActiveRule<Match, Effect>;
  list(): readonly ActiveRule<Match, Effect>[];
  remove(id: string): boolean;
  clear(): void;
  /**
   * The effects of the given types that hit this occasion, in the order of the rules' creation.
   * Counts the occasion; `fits` filters before counting. `happens` decides last: what it denies was
   * seen, and did not happen.
   */
  strike<T extends Effect['type']>(
    types: readonly T[],
    subject: Subject,
    fits?: (effect: EffectIn<Effect, T>) => boolean,
    happens?: (strike: AppliedRule<EffectIn<Effect, T>>) => boolean,
  ): AppliedRule<EffectIn<Effect, T>>[];
  /** Like `strike`, but only the first matching rule; later rules do not count the occasion. */
  strikeOne<T extends Effect['type']>(
    types: readonly T[],
    subject: Subject,
    fits?: (effect: EffectIn<Effect, T>) => boolean,
  ): AppliedRule<EffectIn<Effect, T>> | undefined;
}

export interface FaultRulesDeps<Match extends RuleMatch, Effect> {
  /** Store of the rules with their counters. */
  readonly store: { faults: ActiveRule<Match, Effect>[]; faultCount: number };
  readonly chance: { next(): number };
  /** Called after each change of the rules or their counters. */
  readonly changed: () => void;
  /** Types that strike once when `times` is absent. */
  readonly once: ReadonlySet<string>;
}

/** Comparisons of routes ignore placeholders' names. */
export const shapeOf = (route: string): string =>
  route.replace(/\{[^}]*\}|:[A-Za-z]\w*/g, '{}').replace(/\/$/, '');

/** The fault rules of an emulator. */
export function createFaultRules<
  Match extends RuleMatch,
  Effect extends Typed,
  Subject extends RuleSubject,
>({
  store,
  chance,
  changed,
  once,
}: FaultRulesDeps<Match, Effect>): FaultRules<Match, Effect, Subject> {
  const hits = (rule: ActiveRule<Match, Effect>, happens: () => boolean): boolean => {
    rule.seen++;
    changed();
    const { nth, every, probability } = rule.match;
    if (rule.times !== null && rule.applied >= rule.times) return false;
    if (nth !== undefined && rule.seen !== nth) return false;
    if (every !== undefined && rule.seen % every !== 0) return false;
    if (probability !== undefined && chance.next() >= probability) return false;
    if (!happens()) return false;
    rule.applied++;
    return true;
  };
  function* strikes<T extends Effect['type']>(
    types: readonly T[],
    subject: Subject,
    fits: (effect: EffectIn<Effect, T>) => boolean = () => true,
    happens: (strike: AppliedRule<EffectIn<Effect, T>>) => boolean = () => true,
  ): Generator<AppliedRule<EffectIn<Effect, T>>, undefined> {
    for (const rule of store.faults) {
      if (!(types as readonly string[]).includes(rule.effect.type)) continue;
      const effect = rule.effect as EffectIn<Effect, T>;
      const strike = { id: rule.id, effect };
      if (!matches(rule.match, subject) || !fits(effect)) continue;
      if (hits(rule, () => happens(strike))) yield strike;
    }
    return undefined;
  }
  const remove = (id: string): boolean => {
    const before = store.faults.length;
    store.faults = store.faults.filter((rule) => rule.id !== id);
    changed();
    return store.faults.length < before;
  };
  return {
    add: ({ id, match, times, effect }) => {
      const rule: ActiveRule<Match, Effect> = {
        id: id ?? `fault-${++store.faultCount}`,
        match: match ?? ({} as Match),
        times: times ?? (once.has(effect.type) ? 1 : null),
        effect,
        seen: 0,
        applied: 0,
      };
      remove(rule.id);
      store.faults.push(rule);
      return rule;
    },
    list: () => store.faults.map((rule) => ({ ...rule })),
    remove,
    clear: () => {
      store.faults = [];
      changed();
    },
    strike: (types, subject, fits, happens) => [...strikes(types, subject, fits, happens)],
    strikeOne: (types, subject, fits) => strikes(types, subject, fits).next().value,
  };
}

/** Fields of frequency and probability, which match nothing. */
const COUNTS = new Set(['nth', 'every', 'probability']);

function matches(match: RuleMatch, subject: RuleSubject): boolean {
  return Object.entries(match).every(([name, wanted]) => {
    if (wanted === undefined || COUNTS.has(name)) return true;
    const actual: unknown = (subject as unknown as Readonly<Record<string, unknown>>)[name];
    if (name === 'method') return String(wanted).toUpperCase() === actual;
    if (name === 'route') return shapeOf(String(wanted)) === shapeOf(String(actual));
    return wanted === actual;
  });
}
