import {
  silentLimit,
  unreachableLimit,
  type GuardCounts,
  type GuardPolicy,
} from './guard-judgement.ts';

/**
 * Rules by which recovery of a scope stops. `silence`, `probes`: it is frozen, for machines that fell
 * silent or cannot be reached together. `suspicion`: it pauses while so many are late or silent.
 */
export const GUARD_RULES = ['silence', 'probes', 'suspicion'] as const;
export type GuardRule = (typeof GUARD_RULES)[number];

/** How far a scope is from being stopped by a rule. */
export interface RuleStanding {
  readonly rule: GuardRule;
  /** Machines that count now. */
  readonly count: number;
  /** So many may; one more and it stops. */
  readonly limit: number;
  /** Of so many that could count. */
  readonly of: number;
  /** So many more and it stops; 0: it does now; null: not even all of them would stop it. */
  readonly more: number | null;
}

type Counted = Pick<GuardCounts, 'machines' | 'started' | 'newlySilent' | 'quiet' | 'unreachable'>;

/** The rules of a scope, the one that is nearest to stopping it first. Pure and total. */
export function rulesOf(counts: Counted, policy: GuardPolicy): readonly RuleStanding[] {
  const { machines, started, newlySilent, quiet, unreachable } = counts;
  const silentMax = silentLimit(policy, started);
  return [
    standing('silence', { count: newlySilent, max: silentMax, of: started }),
    standing('probes', {
      count: unreachable,
      max: unreachableLimit(policy, machines),
      of: machines,
    }),
    standing('suspicion', { count: quiet, max: silentMax, of: started }),
  ].toSorted((a, b) => (a.more ?? Infinity) - (b.more ?? Infinity) || 0);
}

function standing(
  rule: GuardRule,
  { count, max, of }: { readonly count: number; readonly max: number; readonly of: number },
): RuleStanding {
  const limit = Math.floor(max);
  const more = Math.max(0, limit + 1 - count);
  return { rule, count, limit, of, more: more > Math.max(0, of - count) ? null : more };
}
