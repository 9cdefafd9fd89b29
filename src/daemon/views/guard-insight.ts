import type { GuardLook, ScopeInsight } from '../../console/views.ts';
import { queueInOrder, scopeNames, type Queued } from '../../domain/explanation/queue.ts';
import { slotOfRow } from '../../domain/filing/named-fleet.ts';
import type { GuardRow, MachineRow } from '../../domain/machine.ts';
import type { GuardCounts, GuardPolicy } from '../../domain/recovery/guard-judgement.ts';
import { rulesOf } from '../../domain/recovery/guard-rules.ts';
import type { Parts } from '../parts.ts';

/** Number of waiting machines that are listed. */
const TOLD_MAX = 100;

/** The console's view of the guard's last assessment here. */
export function guardLook(parts: Parts): GuardLook {
  const { mirror, permits, watch, guardPolicy: policy } = parts;
  const { state, rows, counts } = watch.view();
  const queued = queueInOrder(waitingRows(parts), permits.use());
  const waitingBy = new Map<string, number>();
  for (const { row } of queued) {
    for (const scope of scopeNames(row)) waitingBy.set(scope, (waitingBy.get(scope) ?? 0) + 1);
  }
  return {
    // Counts from before the database's silence say nothing about now.
    scopes:
      state === 'blind'
        ? []
        : counts.map((each) => scopeInsight(each, rows, { policy, nowMs: mirror.nowMs() })),
    waiting: queued.slice(0, TOLD_MAX).flatMap((each) => told(each, watch)),
    waitingBy,
  };
}

export function* waitingRows({ mirror, permits }: Parts): Generator<MachineRow> {
  for (const slot of permits.waiting()) {
    const row = mirror.facts().get(slot)?.row;
    if (row) yield row;
  }
}

function told({ row, queue }: Queued, { barOf }: Parts['watch']) {
  const slot = slotOfRow(row);
  const provider = row.provided?.provider;
  if (slot === null || provider === undefined) return [];
  return [{ slot, queue, bar: barOf(provider, row.order !== null) }];
}

function scopeInsight(
  { scope, ...counts }: GuardCounts,
  rows: readonly GuardRow[],
  { policy, nowMs }: { readonly policy: GuardPolicy; readonly nowMs: number },
): ScopeInsight {
  const row = rows.find((each) => each.scope === scope);
  const frozen = row?.frozen ?? null;
  const isCalm = frozen !== null && frozen.kind !== 'manual' && row!.calmSinceMs !== null;
  const thawsAtMs = isCalm
    ? Math.max(nowMs, row!.calmSinceMs! + policy.calmForMs)
    : (frozen?.untilMs ?? null);
  return {
    scope,
    frozen: frozen && { by: frozen.by, kind: frozen.kind },
    thawsAtMs: thawsAtMs && Math.ceil(thawsAtMs),
    rules: rulesOf(counts, policy),
  };
}
