import { z } from 'zod';
import type { FaultBook } from '../kit/fault-book.ts';
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
     * `sticky`: `Once` is not used up by a boot; `pending`: what was changed at the resource for
     * settings is shown there alone, until the next boot takes it on; `lasting`: as sushy-tools has it,
     * it is for every boot whatever is asked, and a change that names neither target nor mode is
     * refused, as is the target `None`.
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
    /** Another machine is there. */
    z.strictObject({ type: z.literal('bladeSwapped'), serial: z.string(), uuid: z.string() }),
    /** An asset tag is cut to this length. */
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

/** What a test asks for, a rule in force, and what it does. */
export type RedfishFaultRule = FaultRuleOf<typeof FAULTS>;
export type RedfishFault = FaultOf<typeof FAULTS>;
export type FaultEffect = FaultEffectOf<typeof FAULTS>;
export type RedfishEffectOf<T extends FaultEffect['type']> = Extract<FaultEffect, { type: T }>;
export type RedfishFaultBook = FaultBook<RedfishFault['match'], FaultEffect, RuleSubject>;
