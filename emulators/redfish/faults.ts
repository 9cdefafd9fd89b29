import { z } from 'zod';
import type { FaultRules } from '../kit/fault-rules.ts';
import {
  type FaultEffectOf,
  faultForm,
  type FaultOf,
  type FaultRuleOf,
  type RuleSubject,
} from '../kit/faults.ts';

const ms = z.number().min(0);
const OF_BMCS = ['bmc'] as const;

export const FAULTS = faultForm({
  match: {
    /** Such as `bmc-1`. */
    bmc: z.string().optional(),
    /** Such as `system-1`. */
    system: z.string().optional(),
  },
  effects: [
    /** The port is closed, while the rule exists. */
    z.strictObject({ type: z.literal('refuse') }),
    /** The BMC has another certificate, while the rule exists. */
    z.strictObject({ type: z.literal('certificate') }),
    z.strictObject({ type: z.literal('sessionsForgotten') }),
    z.strictObject({ type: z.literal('bmcRestart'), ms }),
    /** Every read of it hangs, until it restarts. */
    z.strictObject({ type: z.literal('bmcHangs') }),
    /** A login succeeds without a token. */
    z.strictObject({ type: z.literal('noToken') }),
    /** The power state is always shown as this. */
    z.strictObject({
      type: z.literal('powerState'),
      shows: z.enum(['On', 'Off', 'PoweringOn', 'PoweringOff']).nullable(),
    }),
    /** The reset types that are shown as allowed; null: none. The accepted types stay the same. */
    z.strictObject({ type: z.literal('allowableValues'), values: z.array(z.string()).nullable() }),
    /**
     * `sticky`: a boot does not use up `Once`. `pending`: changes of the settings resource are
     * visible only there, until the next boot applies them. `lasting`, as in sushy-tools: it
     * applies to every boot, and a change without target and mode is refused, as is the target
     * `None`.
     */
    z.strictObject({ type: z.literal('override'), does: z.enum(['sticky', 'pending', 'lasting']) }),
    /** `refused`: 412 to every If-Match; `weak`: ETags are weak, and match no If-Match. */
    z.strictObject({ type: z.literal('etag'), does: z.enum(['refused', 'weak']) }),
    /** The change is done and answered with 202 and a task. */
    z.strictObject({
      type: z.literal('task'),
      does: z.enum(['ends', 'neverEnds', 'vanishes']),
      /** Time until it ends or vanishes. */
      ms: ms.optional(),
      retryAfterS: z.int().min(0).optional(),
    }),
    /** The machine is replaced. */
    z.strictObject({ type: z.literal('bladeSwapped'), serial: z.string(), uuid: z.string() }),
    /** An asset tag is truncated to this length. */
    z.strictObject({ type: z.literal('assetTag'), length: z.int().min(0) }),
    /** A GET with `Accept-Encoding: identity` is answered with 406. */
    z.strictObject({ type: z.literal('identityRefused') }),
    /** The BMC's clock is wrong. */
    z.strictObject({ type: z.literal('clock'), offMs: z.number() }),
  ],
  once: ['sessionsForgotten', 'bmcRestart', 'bmcHangs'],
  matchedBy: {
    refuse: OF_BMCS,
    certificate: OF_BMCS,
    sessionsForgotten: OF_BMCS,
    bmcRestart: OF_BMCS,
    bmcHangs: OF_BMCS,
  },
});

/** A test's rule, an active rule, and its effect. */
export type RedfishFaultRule = FaultRuleOf<typeof FAULTS>;
export type RedfishFault = FaultOf<typeof FAULTS>;
export type FaultEffect = FaultEffectOf<typeof FAULTS>;
export type RedfishEffectOf<T extends FaultEffect['type']> = Extract<FaultEffect, { type: T }>;
export type RedfishFaultRules = FaultRules<RedfishFault['match'], FaultEffect, RuleSubject>;
