import type { LossPolicy } from '../policy.ts';
import {
  FLEET,
  graceEndsAtMs,
  silentLimit,
  thawObstacle,
  unreachableLimit,
  type GuardCounts,
  type GuardPolicy,
  type Ingest,
} from './guard-judgement.ts';
import type { GuardMoment, GuardPicture, GuardStatus } from './guard-status.ts';

/**
 * Rules that stop recovery in a scope. `silence`, `probes`: a freeze, because machines fell silent
 * or became unreachable together. `suspicion`: a pause while too many are late or silent.
 */
export const GUARD_RULES = ['silence', 'probes', 'suspicion'] as const;
export type GuardRule = (typeof GUARD_RULES)[number];

/** The distance of a scope from a rule's limit. */
export interface RuleStatus {
  readonly rule: GuardRule;
  /** Machines that count now. */
  readonly count: number;
  /** Allowed number; one more stops recovery. */
  readonly limit: number;
  /** Machines that could count. */
  readonly of: number;
  /** Further machines that would stop recovery; 0: stopped now; null: not even all would. */
  readonly more: number | null;
}

type RuleCounts = Pick<
  GuardCounts,
  'machines' | 'started' | 'newlySilent' | 'quiet' | 'unreachable'
>;

/** The rules of a scope, nearest to its limit first. Pure and total. */
export function rulesOf(counts: RuleCounts, policy: GuardPolicy): readonly RuleStatus[] {
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
): RuleStatus {
  const limit = Math.floor(max);
  const more = Math.max(0, limit + 1 - count);
  return { rule, count, limit, of, more: more > Math.max(0, of - count) ? null : more };
}

/** Counts of a provider, and its machines that count as silent for the fleet. */
export type ProviderCounts = GuardCounts & { readonly silentOfFleet: number };

/** Zero counts. */
export const noCounts = (scope: string): GuardCounts => ({
  scope,
  machines: 0,
  started: 0,
  silent: 0,
  newlySilent: 0,
  quiet: 0,
  unreachable: 0,
});

/** The counts of the fleet, then those of its providers by name. */
export function sumOfScopes(providers: readonly ProviderCounts[]): readonly GuardCounts[] {
  const sum = (of: (counts: ProviderCounts) => number) =>
    providers.reduce((total, counts) => total + of(counts), 0);
  const fleet: GuardCounts = {
    scope: FLEET,
    machines: sum((each) => each.machines),
    started: sum((each) => each.started),
    silent: sum((each) => each.silentOfFleet),
    newlySilent: sum((each) => each.newlySilent),
    quiet: sum((each) => each.quiet),
    unreachable: sum((each) => each.unreachable),
  };
  const sorted = providers.toSorted((a, b) => (a.scope < b.scope ? -1 : 1));
  return [fleet, ...sorted.map(({ silentOfFleet: _, ...counts }) => counts)];
}

/** After a wait ends, agent start is expected within this many such waits. */
export const RETRIED_WITHIN = 2;

/** A machine lost before this does not count as newly lost. */
export function earliestNewlyLostMs(
  { upSinceMs, lostAtMs: breakAtMs }: Ingest,
  { newForMs }: GuardPolicy,
  { nowMs, loss }: { readonly nowMs: number; readonly loss: LossPolicy },
): number {
  const newSinceMs = nowMs - newForMs;
  const isJustUp = upSinceMs !== null && upSinceMs + loss.heartbeatMs >= newSinceMs;
  return isJustUp ? Math.min(newSinceMs, breakAtMs ?? 0) : newSinceMs;
}

/** What ends a state of a scope in which recovery is stopped or limited. */
interface GuardEnd {
  /** For people; one sentence. */
  readonly text: string;
  /** When the clock ends it without other changes, epoch ms of the database; null: never. */
  readonly atMs: number | null;
}

/** How normal watching of a scope resumes; null: it is normal. Leaves out unknown counts. */
export function guardEnd(
  { scope, state }: Pick<GuardStatus, 'scope' | 'state'>,
  picture: GuardPicture,
  { nowMs, policy, heartbeatMs }: GuardMoment,
): GuardEnd | null {
  const row = picture.rows.find((each) => each.scope === scope);
  switch (state) {
    case 'watching':
      return null;
    case 'blind':
      return { text: 'It ends when a daemon reads the fleet from the database.', atMs: null };
    case 'suspicious':
      return { text: 'It ends by itself when fewer are late or silent.', atMs: null };
    case 'grace': {
      const upSinceMs = picture.rows.find((each) => each.scope === FLEET)?.ingestUpSinceMs ?? null;
      const atMs = graceEndsAtMs({ upSinceMs }, { heartbeatMs });
      const text =
        atMs === null
          ? 'It does not end before a daemon receives heartbeats.'
          : 'It ends by itself while heartbeats are received.';
      return { text, atMs };
    }
    case 'frozen':
      break;
  }
  const thaw = `shepherd fleet thaw${scope === FLEET ? '' : ` --provider ${scope}`}`;
  if (row?.frozen?.kind === 'manual') {
    const { untilMs } = row.frozen;
    const text =
      untilMs === null
        ? `Only a person ends it: ${thaw}.`
        : `It ends by itself; a person ends it before: ${thaw}.`;
    return { text, atMs: untilMs };
  }
  const counts = picture.counts.find((each) => each.scope === scope);
  const obstacle = row?.frozen && counts && thawObstacle(row.frozen.kind, counts, policy);
  if (obstacle) {
    const text = `It cannot end by itself while ${obstacle}; no machine is recovered until then. Repair their common cause, or accept their loss: ${thaw}.`;
    return { text, atMs: null };
  }
  const calmSinceMs = row?.calmSinceMs ?? null;
  const text = 'It ends by itself if no more machines fall silent.';
  return {
    text,
    atMs: calmSinceMs === null ? null : Math.max(nowMs, calmSinceMs + policy.calmForMs),
  };
}
