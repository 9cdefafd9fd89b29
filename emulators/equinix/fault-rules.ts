import { z } from 'zod';
import { faultForm, type FaultEffectOf, type FaultOf, type FaultRuleOf } from '../kit/faults.ts';

/** Faults of this API alone. */
export const form = faultForm({
  match: { deviceId: z.string().optional() },
  effects: [
    /** A stranger's device takes the free reservation of a create. */
    z.strictObject({
      type: z.literal('race'),
      /** Before the create is checked, or after its answer was lost. */
      when: z.enum(['betweenCheckAndCreate', 'afterLostReply']),
    }),
    /** A page lacks an entry, or a list's total is wrong by one. */
    z.strictObject({ type: z.literal('unstablePages'), mode: z.enum(['omit', 'totalDrift']) }),
    /** Readers see devices late, and reservations as they were. */
    z.strictObject({
      type: z.literal('stale'),
      resource: z.enum(['device', 'reservation', 'all']).optional(),
      view: z.enum(['list', 'single', 'both']),
      lagMs: z.number().positive(),
    }),
    /** The request's token becomes invalid. */
    z.strictObject({ type: z.literal('tokenRevoked') }),
  ],
  once: ['race', 'tokenRevoked'],
});

/** A test's fault rule. */
export type EquinixFaultRule = FaultRuleOf<typeof form>;
export type FaultEffect = FaultEffectOf<typeof form>;
/** An active rule. */
export type EquinixFault = FaultOf<typeof form>;
