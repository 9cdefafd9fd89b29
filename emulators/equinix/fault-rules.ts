import { z } from 'zod';
import type { Rule } from '../kit/fault-book.ts';
import { MATCH_FIELDS, ruleOf } from '../kit/rule-form.ts';
import { SPOILING_EFFECTS } from '../kit/wire-faults.ts';

const ms = z.number().min(0);

const effect = z.discriminatedUnion('type', [
  z
    .strictObject({
      type: z.literal('latency'),
      ms: ms.optional(),
      minMs: ms.optional(),
      maxMs: ms.optional(),
      /** The jitter comes from a generator of the rule's own, begun with this. */
      jitterSeed: z.int().optional(),
    })
    .refine(
      ({ ms, minMs, maxMs }) =>
        ms === undefined
          ? minMs !== undefined && maxMs !== undefined && minMs <= maxMs
          : minMs === undefined && maxMs === undefined,
      'give either ms, or minMs and maxMs in this order',
    ),
  ...SPOILING_EFFECTS,
  /** Added to the genuine answer. */
  z.strictObject({ type: z.literal('headers'), headers: z.record(z.string(), z.string()) }),
  z.strictObject({
    type: z.literal('rateLimit'),
    limit: z.int().min(0),
    windowMs: z.number().positive(),
    retryAfter: z.enum(['seconds', 'date', 'none']).optional(),
  }),
  z.strictObject({ type: z.literal('stuck') }),
  z.strictObject({ type: z.literal('failProvisioning'), reason: z.string().optional() }),
  z.strictObject({
    type: z.literal('race'),
    reservationId: z.uuid().optional(),
    when: z.enum(['beforeCheck', 'betweenCheckAndCreate', 'afterLostReply']),
  }),
  z.strictObject({
    type: z.literal('unstablePages'),
    mode: z.enum(['shuffle', 'duplicate', 'omit', 'totalDrift']),
  }),
  z.strictObject({
    type: z.literal('stale'),
    resource: z.enum(['device', 'reservation', 'all']).optional(),
    view: z.enum(['list', 'single', 'both']),
    lagMs: z.number().positive(),
  }),
  z.strictObject({ type: z.literal('keyCreate404') }),
  z.strictObject({ type: z.literal('deviceGone403') }),
  z.strictObject({ type: z.literal('tokenRevoked'), token: z.string().optional() }),
]);

const match = z.strictObject({
  ...MATCH_FIELDS,
  deviceId: z.string().optional(),
  reservationId: z.string().optional(),
  /** The token's value. */
  token: z.string().optional(),
});

const ruleSchema = ruleOf(match, effect);

/** What a test asks for. */
export type FaultRule = z.input<typeof ruleSchema>;
export type FaultEffect = z.output<typeof effect>;
export type FaultMatch = z.output<typeof match>;
/** A rule in force. */
export type Fault = Readonly<Rule<FaultMatch, FaultEffect>>;

/** @throws {z.ZodError} for a rule that cannot be understood. */
export function parseFaultRule(input: unknown): z.output<typeof ruleSchema> {
  return ruleSchema.parse(input);
}
