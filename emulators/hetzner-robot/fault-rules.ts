import { z } from 'zod';
import type { FaultBook, Rule } from '../kit/fault-book.ts';
import { MATCH_FIELDS, refuseMatch, requireRoute, ruleOf } from '../kit/rule-form.ts';
import { WIRE_EFFECTS } from '../kit/wire-faults.ts';

const ms = z.number().min(0);

const effect = z.discriminatedUnion('type', [
  ...WIRE_EFFECTS,
  /** Connections are taken and nothing is ever said on them, until the rule is removed. */
  z.strictObject({ type: z.literal('handshakeHang') }),
  /** 503 to everything for so many minutes from the first request on. */
  z.strictObject({ type: z.literal('maintenance'), minutes: z.number().min(0) }),
  /** The login is taken for a wrong one, and counts as such. */
  z.strictObject({ type: z.literal('loginRefused') }),
  /** The port is closed, until the rule is removed. */
  z.strictObject({ type: z.literal('addressBlocked') }),
  /** `ignored`: answered with the old name; `cut` to `length`; `late`: shown only `ms` later. */
  z.strictObject({
    type: z.literal('rename'),
    does: z.enum(['ignored', 'cut', 'late']),
    /** Of `cut`. Default 20. */
    length: z.int().min(0).optional(),
    /** Of `late`. Default 30 000. */
    ms: ms.optional(),
  }),
  /** `ignored`: acknowledged, and nothing happens; `failsThoughDone`: 500 RESET_FAILED, and done. */
  z.strictObject({ type: z.literal('reset'), does: z.enum(['ignored', 'failsThoughDone']) }),
  /** A technician is at the machine: 409 to each reset. */
  z.strictObject({ type: z.literal('manualReset') }),
  /** What is armed is not armed any more so long after; default at once. */
  z.strictObject({ type: z.literal('rescueDisarms'), afterMs: ms.optional() }),
  /** The machine boots from its drives, whatever is armed. */
  z.strictObject({ type: z.literal('bootsDisk') }),
  /** The rescue system lets a stranger's key in, or none. */
  z.strictObject({ type: z.literal('rescueKeys'), does: z.enum(['foreign', 'none']) }),
  /** What `host_key` of an armed rescue system shows; default empty. */
  z.strictObject({
    type: z.literal('hostKey'),
    shows: z.enum(['empty', 'right', 'wrong']),
    /** Objects, as orders have them, or texts. Default `object`. */
    form: z.enum(['object', 'text']).optional(),
  }),
  /** SSH lets in, and no command ever ends. */
  z.strictObject({ type: z.literal('commandHangs') }),
  z.strictObject({
    type: z.literal('installimage'),
    does: z.enum(['fails', 'hangs', 'marksAndFails']),
  }),
  /** A drive is not there, or has another name, from the next boot on. `drive` counts from 0. */
  z.strictObject({
    type: z.literal('drive'),
    does: z.enum(['missing', 'renamed']),
    drive: z.int().min(0).optional(),
  }),
  z.strictObject({ type: z.literal('serverGone'), from: z.enum(['list', 'account']) }),
  /** Somebody else renames the machine right after we did. */
  z.strictObject({ type: z.literal('nameTaken'), name: z.string() }),
  z.strictObject({ type: z.literal('inProcess') }),
  /** These fields of a server are null. */
  z.strictObject({ type: z.literal('nullFields'), fields: z.array(z.string()).min(1) }),
  /** The images of the rescue system do not hold it any more. Default: none of them. */
  z.strictObject({ type: z.literal('imageGone'), image: z.string().optional() }),
  /** All requests of the user are counted as one class. */
  z.strictObject({ type: z.literal('limitPerUser'), max: z.int().min(0) }),
]);
export type FaultEffect = z.output<typeof effect>;
export type EffectType = FaultEffect['type'];
/** All that there are. */
export const EFFECT_TYPES: readonly string[] = effect.options.map(({ shape }) => shape.type.value);
export type EffectOf<T extends EffectType> = Extract<FaultEffect, { type: T }>;

const match = z.strictObject({
  ...MATCH_FIELDS,
  /** Number of the server. */
  server: z.int().optional(),
});
export type FaultMatch = z.output<typeof match>;

const ruleSchema = ruleOf(match, effect);

/** What a test asks for. */
export type FaultRule = z.input<typeof ruleSchema>;
/** A rule in force. */
export type Fault = Readonly<Rule<FaultMatch, FaultEffect>>;

/** What rules look at. */
export interface Subject {
  readonly method: string;
  readonly route: string;
  /** Absent: the occasion is no server's. */
  readonly server?: number | undefined;
}
export type Faults = FaultBook<FaultMatch, FaultEffect, Subject>;

/** Effects on the port, which last as long as their rule. */
export const OF_THE_PORT: readonly EffectType[] = ['handshakeHang', 'addressBlocked'];
/** Effects on a machine, where no request can be looked at. */
const OF_MACHINES: readonly EffectType[] = [
  'bootsDisk',
  'rescueKeys',
  'commandHangs',
  'installimage',
  'drive',
  'imageGone',
];

export interface Known {
  readonly routes: readonly string[];
  readonly servers: readonly number[];
}

/**
 * A rule that names what there is not would never strike, and a test of it always pass.
 * @throws {z.ZodError} for a rule that cannot be understood, or names what there is not.
 */
export function parseFaultRule(input: unknown, known: Known) {
  const rule = ruleSchema.parse(input);
  const { route, server, method, nth, every, probability } = rule.match ?? {};
  requireRoute(rule, known.routes);
  if (server !== undefined && !known.servers.includes(server)) {
    refuseMatch(rule, 'server', `no server ${server}`);
  }
  const { type } = rule.effect;
  const isGiven = (...values: unknown[]) => values.some((one) => one !== undefined);
  if (OF_THE_PORT.includes(type) && isGiven(route, method, server, nth, every, probability)) {
    refuseMatch(
      rule,
      'route',
      `${type} happens to the port, until the rule is removed: match nothing`,
    );
  }
  if (OF_MACHINES.includes(type) && isGiven(route, method)) {
    refuseMatch(rule, 'route', `${type} happens to a machine: match by server alone`);
  }
  return rule;
}
