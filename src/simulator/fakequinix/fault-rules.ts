import { z } from 'zod';
import { shapeOf } from '../fault-book.ts';
import { SPOILING_EFFECTS } from '../wire-faults.ts';

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

const ruleSchema = z.strictObject({
  id: z.string().min(1).optional(),
  match: z
    .strictObject({
      method: z.string().optional(),
      /** Path below the base with placeholders, for example `/projects/{p}/devices`. */
      route: z.string().optional(),
      deviceId: z.string().optional(),
      reservationId: z.string().optional(),
      /** The token's value. */
      token: z.string().optional(),
      /** Only the n-th request that fits, counted from 1. */
      nth: z.int().min(1).optional(),
      /** Every n-th request that fits. */
      every: z.int().min(1).optional(),
      probability: z.number().min(0).max(1).optional(),
    })
    .optional(),
  /** How often it happens before the rule is spent; without it there is no end. */
  times: z.int().min(1).optional(),
  effect,
});

/** What a test asks for. */
export type FaultRule = z.input<typeof ruleSchema>;
export type FaultEffect = z.output<typeof effect>;
export type FaultMatch = NonNullable<z.output<typeof ruleSchema>['match']>;

/** A rule in force. `seen` requests fitted so far, `applied` times it happened. */
export interface Fault {
  readonly id: string;
  readonly match: FaultMatch;
  readonly times: number | null;
  readonly effect: FaultEffect;
  readonly seen: number;
  readonly applied: number;
}

/**
 * A rule for a route that there is not would never strike, and a test of it always pass.
 * @throws {z.ZodError} naming the routes that there are.
 */
export function requireRoute({ match }: FaultRule, routes: readonly string[]): void {
  const route = match?.route;
  if (route === undefined || routes.some((known) => shapeOf(known) === shapeOf(route))) return;
  const known = [...new Set(routes)].toSorted().join(', ');
  const message = `no route ${route}; there are ${known}`;
  const path = ['match', 'route'];
  throw new z.ZodError([{ code: 'custom', path, message, input: route }]);
}

/** @throws {z.ZodError} for a rule that cannot be understood. */
export function parseFaultRule(input: unknown): z.output<typeof ruleSchema> {
  return ruleSchema.parse(input);
}
