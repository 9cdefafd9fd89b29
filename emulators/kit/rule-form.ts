import { z } from 'zod';
import { shapeOf } from './fault-book.ts';

/** What a rule may look for with every emulator. */
export const MATCH_FIELDS = {
  method: z.string().optional(),
  /** Path with placeholders, such as `/servers/{id}`. */
  route: z.string().optional(),
  /** Only the n-th occasion that fits, counted from 1. */
  nth: z.int().min(1).optional(),
  /** Every n-th occasion that fits. */
  every: z.int().min(1).optional(),
  probability: z.number().min(0).max(1).optional(),
};

/** A rule as it is asked for. */
export const ruleOf = <Match extends z.ZodType, Effect extends z.ZodType>(
  match: Match,
  effect: Effect,
) =>
  z.strictObject({
    id: z.string().min(1).optional(),
    match: match.optional(),
    /** How often it happens before the rule is spent; without it there is no end. */
    times: z.int().min(1).optional(),
    effect,
  });

interface Matching {
  readonly match?: { readonly route?: string | undefined } | undefined;
}

/** Refuses a field of what a rule looks for. @throws {z.ZodError} always. */
export function refuseMatch({ match }: Matching, key: string, message: string): never {
  throw new z.ZodError([{ code: 'custom', path: ['match', key], message, input: match }]);
}

/**
 * A rule that names what there is not would never strike, and a test of it always pass.
 * @throws {z.ZodError} for a route that there is not.
 */
export function requireRoute(rule: Matching, routes: readonly string[]): void {
  const route = rule.match?.route;
  if (route === undefined || routes.some((one) => shapeOf(one) === shapeOf(route))) return;
  const all = [...new Set(routes)].toSorted().join(', ');
  refuseMatch(rule, 'route', `no route ${route}; there are ${all}`);
}
