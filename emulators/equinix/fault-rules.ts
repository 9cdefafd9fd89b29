import { z } from 'zod';
import { faultForm, type FaultEffectOf, type FaultOf, type FaultRuleOf } from '../kit/faults.ts';

/** What can go wrong with this API alone. */
export const form = faultForm({
  match: { deviceId: z.string().optional() },
  effects: [
    /** A stranger's device takes the free reservation that a create names. */
    z.strictObject({
      type: z.literal('race'),
      /** Before the create is looked at, or after its answer was lost. */
      when: z.enum(['betweenCheckAndCreate', 'afterLostReply']),
    }),
    /** A page lacks a thing, or the total of a list is one too many or too few. */
    z.strictObject({ type: z.literal('unstablePages'), mode: z.enum(['omit', 'totalDrift']) }),
    /** Readers see devices later than they are there, and reservations as they were. */
    z.strictObject({
      type: z.literal('stale'),
      resource: z.enum(['device', 'reservation', 'all']).optional(),
      view: z.enum(['list', 'single', 'both']),
      lagMs: z.number().positive(),
    }),
    /** The token of the request opens nothing any more. */
    z.strictObject({ type: z.literal('tokenRevoked') }),
  ],
  once: ['race', 'tokenRevoked'],
});

/** What a test asks for. */
export type EquinixFaultRule = FaultRuleOf<typeof form>;
export type FaultEffect = FaultEffectOf<typeof form>;
/** A rule in force. */
export type EquinixFault = FaultOf<typeof form>;
