import { z } from 'zod';
import { type Rule, shapeOf } from '../fault-book.ts';
import { WIRE_EFFECTS } from '../wire-faults.ts';

const effect = z.discriminatedUnion('type', [
  ...WIRE_EFFECTS,
  z.strictObject({
    type: z.literal('rateLimit'),
    limit: z.int().min(0),
    windowMs: z.number().positive(),
    retryAfter: z.enum(['seconds', 'date', 'none']).optional(),
  }),
  /** A creation makes two of it; the answer names the second. */
  z.strictObject({ type: z.literal('twin') }),
  /** What is made stays NewlyCreated. */
  z.strictObject({ type: z.literal('neverDeploys') }),
  /** What is made or changed ends in DeploymentError, for so many deployments; 1 when absent. */
  z.strictObject({ type: z.literal('deploymentError'), deployments: z.int().min(1).optional() }),
  /** Lists show the objects and tags of so long ago. */
  z.strictObject({ type: z.literal('lag'), lagMs: z.number().positive() }),
]);
export type FaultEffect = z.output<typeof effect>;

const match = z.strictObject({
  method: z.string().optional(),
  /** Path with placeholders, such as `/api/LBaaS/v1/backend.json/{id}`. */
  route: z.string().optional(),
  kind: z.enum(['backend', 'frontend', 'bind', 'server']).optional(),
  /** Of the object: in the body of a creation, or by the id of the path. */
  name: z.string().optional(),
  id: z.string().optional(),
  /** Of a list. */
  page: z.int().min(1).optional(),
  /** Only the n-th request that fits, counted from 1. */
  nth: z.int().min(1).optional(),
  /** Every n-th request that fits. */
  every: z.int().min(1).optional(),
  probability: z.number().min(0).max(1).optional(),
});
export type FaultMatch = z.output<typeof match>;

const ruleSchema = z.strictObject({
  id: z.string().min(1).optional(),
  match: match.optional(),
  /** How often it happens before the rule is spent; without it there is no end. */
  times: z.int().min(1).optional(),
  effect,
});

/** What a test asks for. */
export type FaultRule = z.input<typeof ruleSchema>;
/** A rule in force. */
export type Fault = Readonly<Rule<FaultMatch, FaultEffect>>;

/** Types that mean one single occasion when `times` is absent. */
export const ONCE = new Set<FaultEffect['type']>(['twin', 'neverDeploys', 'deploymentError']);

/**
 * @param routes a rule for a route that there is not would never strike, and a test of it always pass.
 * @throws {z.ZodError} for a rule that cannot be understood, or names no route that there is.
 */
export function parseFaultRule(input: unknown, routes: readonly string[]) {
  const rule = ruleSchema.parse(input);
  const route = rule.match?.route;
  if (route === undefined || routes.some((known) => shapeOf(known) === shapeOf(route))) return rule;
  const message = `no route ${route}; there are ${[...new Set(routes)].toSorted().join(', ')}`;
  throw new z.ZodError([{ code: 'custom', path: ['match', 'route'], message, input: route }]);
}
