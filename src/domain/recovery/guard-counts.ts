import type { LossPolicy } from '../policy.ts';
import { FLEET } from './guard-judgement.ts';
import type { GuardCounts, GuardPolicy, Ingest } from './guard-judgement.ts';

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
