import { z } from 'zod';
import type { FaultBook, Rule } from '../kit/fault-book.ts';
import { MATCH_FIELDS, refuseMatch, requireRoute, ruleOf } from '../kit/rule-form.ts';
import { WIRE_EFFECTS } from '../kit/wire-faults.ts';

const ms = z.number().min(0);

const effect = z.discriminatedUnion('type', [
  ...WIRE_EFFECTS,
  /** The port is closed, until the rule is removed. */
  z.strictObject({ type: z.literal('refuse') }),
  /** The BMC has another certificate, until the rule is removed. */
  z.strictObject({ type: z.literal('certificate') }),
  z.strictObject({ type: z.literal('sessionsForgotten') }),
  z.strictObject({ type: z.literal('bmcRestart'), ms }),
  /** Whatever is read of it hangs, until it restarts. */
  z.strictObject({ type: z.literal('bmcHangs') }),
  /** A login succeeds and answers no token. */
  z.strictObject({ type: z.literal('noToken') }),
  /** The power state is always shown so. */
  z.strictObject({
    type: z.literal('powerState'),
    shows: z.enum(['On', 'Off', 'PoweringOn', 'PoweringOff']).nullable(),
  }),
  /** The types of reset that are shown as allowed; null: none are. What is accepted stays. */
  z.strictObject({ type: z.literal('allowableValues'), values: z.array(z.string()).nullable() }),
  /**
   * `sticky`: `Once` is not used up by a boot; `pending`: what was changed at the resource for settings
   * is shown there alone, until the next boot takes it on; `lasting`: as sushy-tools has it, it is for
   * every boot whatever is asked, and a change that names neither target nor mode is refused, as is
   * the target `None`.
   */
  z.strictObject({ type: z.literal('override'), does: z.enum(['sticky', 'pending', 'lasting']) }),
  /** `refused`: 412 to every If-Match; `weak`: ETags are weak, and match no If-Match. */
  z.strictObject({ type: z.literal('etag'), does: z.enum(['refused', 'weak']) }),
  /** The change is done and answered with 202 and a task. */
  z.strictObject({
    type: z.literal('task'),
    does: z.enum(['ends', 'neverEnds', 'vanishes']),
    /** Until it ends or vanishes. */
    ms: ms.optional(),
    retryAfterS: z.int().min(0).optional(),
  }),
  z.strictObject({ type: z.literal('bladeSwapped'), serial: z.string(), uuid: z.string() }),
  /** An asset tag is cut to this length. */
  z.strictObject({ type: z.literal('assetTag'), length: z.int().min(0) }),
  /** A GET with `Accept-Encoding: identity` is refused. */
  z.strictObject({ type: z.literal('identityRefused') }),
  z.strictObject({ type: z.literal('clock'), offMs: z.number() }),
]);
export type FaultEffect = z.output<typeof effect>;
export type EffectType = FaultEffect['type'];
export type EffectOf<T extends EffectType> = Extract<FaultEffect, { type: T }>;

const match = z.strictObject({
  ...MATCH_FIELDS,
  /** Such as `bmc-1`. */
  bmc: z.string().optional(),
  /** Such as `system-1`. */
  system: z.string().optional(),
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
  readonly bmc: string;
  /** Of the path, or the only one of its BMC. */
  readonly system?: string | undefined;
}
export type Faults = FaultBook<FaultMatch, FaultEffect, Subject>;

/** Effects that happen to a BMC when the rule is made, not to a request. */
export const AT_ONCE = [
  'refuse',
  'certificate',
  'sessionsForgotten',
  'bmcRestart',
  'bmcHangs',
] as const;
export type AtOnce = (typeof AT_ONCE)[number];
export const isAtOnce = (type: EffectType): type is AtOnce =>
  (AT_ONCE as readonly string[]).includes(type);

export interface Known {
  readonly routes: readonly string[];
  readonly bmcs: readonly string[];
  readonly systems: readonly string[];
}

/**
 * A rule that names what there is not would never strike, and a test of it always pass.
 * @throws {z.ZodError} for a rule that cannot be understood, or names what there is not.
 */
export function parseFaultRule(input: unknown, known: Known) {
  const rule = ruleSchema.parse(input);
  const { route, bmc, system, method, nth, every, probability } = rule.match ?? {};
  requireRoute(rule, known.routes);
  if (bmc !== undefined && !known.bmcs.includes(bmc)) refuseMatch(rule, 'bmc', `no BMC ${bmc}`);
  if (system !== undefined && !known.systems.includes(system)) {
    refuseMatch(rule, 'system', `no system ${system}`);
  }
  const ofRequests = [route, system, method, nth, every, probability];
  if (isAtOnce(rule.effect.type) && ofRequests.some((one) => one !== undefined)) {
    refuseMatch(
      rule,
      'bmc',
      `${rule.effect.type} happens to a whole BMC, at once: match by bmc alone`,
    );
  }
  return rule;
}
