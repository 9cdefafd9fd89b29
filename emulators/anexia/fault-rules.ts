import { z } from 'zod';
import type { Rule } from '../kit/fault-book.ts';
import { MATCH_FIELDS, requireRoute, ruleOf } from '../kit/rule-form.ts';
import { WIRE_EFFECTS } from '../kit/wire-faults.ts';

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
  ...MATCH_FIELDS,
  kind: z.enum(['backend', 'frontend', 'bind', 'server']).optional(),
  /** Of the object: in the body of a creation, or by the id of the path. */
  name: z.string().optional(),
  id: z.string().optional(),
  /** Of a list. */
  page: z.int().min(1).optional(),
});
export type FaultMatch = z.output<typeof match>;

const ruleSchema = ruleOf(match, effect);

/** What a test asks for. */
export type FaultRule = z.input<typeof ruleSchema>;
/** A rule in force. */
export type Fault = Readonly<Rule<FaultMatch, FaultEffect>>;

/** Types that mean one single occasion when `times` is absent. */
export const ONCE = new Set<FaultEffect['type']>(['twin', 'neverDeploys', 'deploymentError']);

/**
 * @throws {z.ZodError} for a rule that cannot be understood, or names no route that there is.
 */
export function parseFaultRule(input: unknown, routes: readonly string[]) {
  const rule = ruleSchema.parse(input);
  requireRoute(rule, routes);
  return rule;
}
