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
import type { GuardMoment, GuardPicture, GuardStanding } from './standing.ts';

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

/** Of a provider; and how many of its machines count as silent for the fleet. */
export type ProviderCounts = GuardCounts & { readonly silentOfFleet: number };

/** Counts of nothing. */
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

/** After the end of a wait, the agent start is looked for within so many of such waits. */
export const RETRIED_WITHIN = 2;

/** Nobody who was lost before this counts as newly lost. */
export function earliestNewlyLostMs(
  { upSinceMs, lostAtMs: breakAtMs }: Ingest,
  { newForMs }: GuardPolicy,
  { nowMs, loss }: { readonly nowMs: number; readonly loss: LossPolicy },
): number {
  const newSinceMs = nowMs - newForMs;
  const isJustUp = upSinceMs !== null && upSinceMs + loss.heartbeatMs >= newSinceMs;
  return isJustUp ? Math.min(newSinceMs, breakAtMs ?? 0) : newSinceMs;
}

/** What ends the state of a scope in which nothing, or not everything, is recovered. */
interface GuardEnd {
  /** For people; one sentence. */
  readonly text: string;
  /** When the clock ends it if nothing else changes, epoch ms of the database; null: no clock does. */
  readonly atMs: number | null;
}

/** How a scope comes to be watched again; null: it is. Counts that are not known are left out. */
export function guardEnd(
  { scope, state }: Pick<GuardStanding, 'scope' | 'state'>,
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
          ? 'It does not end before a daemon takes heartbeats in.'
          : 'It ends by itself while heartbeats are taken in.';
      return { text, atMs };
    }
    case 'frozen':
      break;
  }
  if (row?.frozen?.kind === 'manual') {
    const { untilMs } = row.frozen;
    const text =
      untilMs === null
        ? 'Only a person ends it: shepherd fleet thaw.'
        : 'It ends by itself; a person ends it before: shepherd fleet thaw.';
    return { text, atMs: untilMs };
  }
  const counts = picture.counts.find((each) => each.scope === scope);
  const obstacle = row?.frozen && counts && thawObstacle(row.frozen.kind, counts, policy);
  if (obstacle) {
    const text = `It cannot end by itself while ${obstacle}; none is recovered until then. Mend what they share, or say that they are gone: shepherd fleet thaw.`;
    return { text, atMs: null };
  }
  const calmSinceMs = row?.calmSinceMs ?? null;
  const text = 'It ends by itself if no more machines fall silent.';
  return {
    text,
    atMs: calmSinceMs === null ? null : Math.max(nowMs, calmSinceMs + policy.calmForMs),
  };
}
