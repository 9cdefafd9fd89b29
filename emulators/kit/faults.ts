import { z } from 'zod';
import {
  type RequestedRule,
  createFaultRules,
  type FaultRules,
  type ActiveRule,
  shapeOf,
} from './fault-rules.ts';
import type { Generator } from './random.ts';

const ms = z.number().min(0);
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];
/** Header names and values that HTTP allows. */
const headers = z.record(
  z.string().regex(/^[\w!#$%&'*+.^`|~-]+$/),
  z.string().regex(/^[\t\x20-\x7e]*$/),
);
/** `before` any effect, `after` it, or after half of the answer was sent. */
const phase = z.enum(['before', 'after', 'midBody']);

/** Match fields of every rule, besides the emulator's own. */
const COMMON_MATCH = {
  method: z.string().toUpperCase().pipe(z.enum(METHODS)).optional(),
  /** Path with placeholders, such as `/servers/{id}`. */
  route: z.string().optional(),
  /** Only the n-th matching occasion, counted from 1. */
  nth: z.int().min(1).optional(),
  /** Every n-th matching occasion. */
  every: z.int().min(1).optional(),
  probability: z.number().min(0).max(1).optional(),
};
export type CommonMatch = z.output<z.ZodObject<typeof COMMON_MATCH>>;

/** Effects on any answer, for any request. */
const COMMON_EFFECTS = [
  z
    .strictObject({
      type: z.literal('latency'),
      ms: ms.optional(),
      minMs: ms.optional(),
      maxMs: ms.optional(),
    })
    .refine(
      ({ ms, minMs, maxMs }) =>
        ms === undefined
          ? minMs !== undefined && maxMs !== undefined && minMs <= maxMs
          : minMs === undefined && maxMs === undefined,
      'give either ms, or minMs and maxMs in this order',
    ),
  z.strictObject({
    type: z.literal('status'),
    code: z.int().min(200).max(599),
    /** Text is sent unchanged, null as an empty body, everything else as JSON. */
    body: z.unknown().optional(),
    headers: headers.optional(),
    /** True: the change is applied, and then denied. Default false. */
    executed: z.boolean().optional(),
  }),
  z.strictObject({ type: z.literal('drop'), phase }),
  z.strictObject({ type: z.literal('hang'), phase }),
  z.strictObject({
    type: z.literal('garbage'),
    kind: z.enum(['truncated', 'notJson', 'wrongType', 'html', 'redirect']),
  }),
  /** Added to the genuine answer. */
  z.strictObject({ type: z.literal('headers'), headers }),
  /** Answers excess requests of one login in a window with 429. */
  z.strictObject({
    type: z.literal('rateLimit'),
    limit: z.int().min(0),
    windowMs: z.number().positive(),
    retryAfter: z.enum(['seconds', 'date', 'none']).optional(),
  }),
] as const;
const commonEffect = z.discriminatedUnion('type', COMMON_EFFECTS);
export type CommonEffect = z.output<typeof commonEffect>;

type Typed = { readonly type: string };
type EffectType = z.ZodType<Typed>;

/** One emulator's additions to the common faults. */
export interface OwnFaults<Shape extends z.ZodRawShape, Effects extends readonly EffectType[]> {
  /** Additional match fields. */
  readonly match: Shape;
  readonly effects: Effects;
  /** Types that strike once when `times` is absent. */
  readonly once?: readonly Effects[number]['_zod']['output']['type'][];
  /** Types that strike something other than a request, with their only match fields. */
  readonly matchedBy?: Readonly<Partial<Record<string, readonly string[]>>>;
}

/** An emulator's rules: how to write and check them. */
export interface FaultForm<Match, Effect extends Typed, Input> {
  /**
   * @param known existing values of a `match` field. A rule with another value would never strike,
   * and its test would always pass.
   * @throws {z.ZodError} the rule is invalid, or could never strike.
   */
  parse(input: Input, known: KnownValues): RequestedRule<Match, Effect>;
  readonly once: ReadonlySet<string>;
  /** All types of effects, in the documents' order. */
  readonly types: readonly string[];
}
export type KnownValues = Readonly<Record<string, readonly unknown[]>>;

type MatchOf<Shape extends z.ZodRawShape> = CommonMatch & z.output<z.ZodObject<Shape>>;
interface InputOf<Shape extends z.ZodRawShape, Effects extends readonly EffectType[]> {
  readonly id?: string | undefined;
  readonly match?: (CommonMatch & z.input<z.ZodObject<Shape>>) | undefined;
  /** Number of strikes of the rule; default: unlimited. */
  readonly times?: number | undefined;
  readonly effect: z.input<typeof commonEffect> | z.input<Effects[number]>;
}

/** The form of an emulator's rules: the common part and the emulator's additions. */
export function faultForm<
  const Shape extends z.ZodRawShape,
  const Effects extends readonly EffectType[],
>({
  match,
  effects,
  once = [],
  matchedBy = {},
}: OwnFaults<Shape, Effects>): FaultForm<
  MatchOf<Shape>,
  CommonEffect | z.output<Effects[number]>,
  InputOf<Shape, Effects>
> {
  const effect = z.discriminatedUnion('type', [...COMMON_EFFECTS, ...effects] as never);
  const schema = z.strictObject({
    id: z.string().min(1).optional(),
    match: z.strictObject({ ...COMMON_MATCH, ...match }).optional(),
    times: z.int().min(1).optional(),
    effect,
  }) as unknown as z.ZodType<
    RequestedRule<MatchOf<Shape>, CommonEffect | z.output<Effects[number]>>,
    InputOf<Shape, Effects>
  >;
  return {
    once: new Set(once),
    types: [...COMMON_EFFECTS, ...(effects as unknown as typeof COMMON_EFFECTS)].map(
      ({ shape }) => shape.type.value,
    ),
    parse(input, known) {
      const rule = schema.parse(input);
      const asked = Object.entries(rule.match ?? {}).filter(([, value]) => value !== undefined);
      for (const [name, value] of asked) {
        if (isKnown(name, value, known[name])) continue;
        const all = [...new Set(known[name]?.map(String))].toSorted().join(', ');
        refuseMatch(rule, name, `no ${name} ${String(value)}; there are ${all}`);
      }
      const { nth, every } = rule.match ?? {};
      if (nth !== undefined && every !== undefined) refuseMatch(rule, 'nth', 'give nth or every');
      const { type } = rule.effect;
      const allowed = matchedBy[type];
      const [wrong] = asked.find(([name]) => allowed?.includes(name) === false) ?? [];
      if (wrong !== undefined && allowed !== undefined) {
        const by = allowed.length === 0 ? 'nothing' : `${allowed.join(' and ')} alone`;
        refuseMatch(rule, wrong, `${type} does not happen to a request: match by ${by}`);
      }
      return rule;
    },
  };
}

function isKnown(name: string, value: unknown, values: readonly unknown[] | undefined): boolean {
  if (values === undefined) return true;
  if (name !== 'route') return values.includes(value);
  return values.some((one) => shapeOf(String(one)) === shapeOf(String(value)));
}

/** Refuses a match field. @throws {z.ZodError} always. */
function refuseMatch({ match }: { match?: unknown }, key: string, message: string): never {
  throw new z.ZodError([{ code: 'custom', path: ['match', key], message, input: match }]);
}

/** Types of an emulator's form: a requested rule, an active rule, its effects. */
export type FaultRuleOf<Form> =
  Form extends FaultForm<infer _M, infer _E, infer Input> ? Input : never;
export type FaultOf<Form> =
  Form extends FaultForm<infer Match, infer Effect, infer _I>
    ? Readonly<ActiveRule<Match & CommonMatch, Effect>>
    : never;
export type FaultEffectOf<Form> =
  Form extends FaultForm<infer _M, infer Effect, infer _I> ? Effect : never;

/** The input of rules, besides the emulator's own fields. */
export interface RuleSubject {
  readonly method: string;
  /** With placeholders. */
  readonly route: string;
  readonly [field: string]: unknown;
}

/** Store of the rules with their counters. */
export interface FaultStore<Match extends CommonMatch, Effect> {
  faults: ActiveRule<Match, Effect>[];
  faultCount: number;
}

/** The active rules. */
export const createFaults = <Match extends CommonMatch, Effect extends Typed, Input>(
  form: FaultForm<Match, Effect, Input>,
  chance: Pick<Generator, 'next'>,
  {
    store = { faults: [], faultCount: 0 },
    changed = () => undefined,
  }: {
    readonly store?: FaultStore<Match, Effect>;
    /** Called after each change of the rules or their counters. */
    readonly changed?: () => void;
  } = {},
): FaultRules<Match, Effect, RuleSubject> =>
  createFaultRules<Match, Effect, RuleSubject>({ store, chance, changed, once: form.once });
