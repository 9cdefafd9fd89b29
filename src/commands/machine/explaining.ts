import { ladderOf, type Config } from '../../config.ts';
import { guardPolicyOf, TUNING } from '../../daemon/tuning.ts';
import { readPast } from '../../daemon/views/explaining.ts';
import { ALL_MEANS, explanationOf } from '../../domain/explanation/explanation.ts';
import { queueOf } from '../../domain/explanation/queue.ts';
import type { Explanation } from '../../domain/explanation/types.ts';
import type { Entry } from '../../domain/filing/named-fleet.ts';
import type { ProviderName } from '../../domain/ids.ts';
import type { MachineRow } from '../../domain/machine.ts';
import { nextStep } from '../../domain/recovery/ladder.ts';
import { interrupts } from '../../domain/recovery/rungs.ts';
import type { Means } from './command.ts';
import type { RecordedFleet } from './recorded-fleet.ts';
import { fleetBudget, groupBudget, type RecoveryBudget } from '../../domain/policy.ts';

/**
 * Why a slot is where it is, as far as the database tells: what daemons alone know (the steps of
 * their own work, what providers list now, what they find suspicious) is not in it.
 */
export async function explainEntry(
  { facts, view }: Entry,
  fleet: RecordedFleet,
  quarantinedBy: string | null,
  { bmdb, config, signal }: Means,
): Promise<Explanation> {
  const { read, loss, providers } = fleet;
  const { row } = facts;
  const past = row && (await readPast(bmdb, row, view.state, signal));
  const isWaiting = row !== null && view.next === 'recovery';
  const waiting = fleet.entries.flatMap((entry) =>
    entry.view.next === 'recovery' && entry.facts.row ? [entry.facts.row] : [],
  );
  const budgets = budgetsOf(fleet, config.guard);
  const told = {
    slot: facts,
    shown: null,
    seenSinceMs: past?.seenSinceMs ?? null,
    quarantinedBy: quarantinedBy ?? past?.quarantinedBy ?? null,
    self: null,
    guard: { rows: read.guard, counts: [] },
    queue:
      isWaiting && needsPermit(row, view.provider, { config, nowMs: read.nowMs })
        ? queueOf(
            row,
            budgets.map(({ limit, ...use }) => ({ ...use, budget: limit })),
            waiting,
          )
        : null,
    providerHolds: read.providerHolds,
    // Which means a provider has, only its driver tells.
    ladder: { policy: ladderOf(config, view.provider), means: null },
    breaker: null,
    usual: null,
  };
  const guard = guardPolicyOf(config, TUNING);
  const names = new Set(providers);
  return explanationOf(told, { nowMs: read.nowMs, loss, guard, providers: names });
}

/** Whether the ladder's next step interrupts the machine, as far as the database tells. */
function needsPermit(
  row: MachineRow,
  provider: ProviderName,
  { config, nowMs }: { readonly config: Config; readonly nowMs: number },
): boolean {
  const policy = ladderOf(config, provider);
  const { askAgainMs } = TUNING;
  const step = nextStep(row, { means: ALL_MEANS, policy, preserved: false, nowMs, askAgainMs });
  return !('end' in step) && interrupts(step.rung);
}

/** How many machines of a scope are being recovered, of so many that may be at once. */
interface Budget {
  /** `fleet`, `provider <name>`, or `location <name>`. */
  readonly scope: string;
  readonly permits: number;
  readonly limit: number;
}

/** Of the fleet first, then of each provider and location where some are being recovered. */
function budgetsOf({ entries }: Pick<RecordedFleet, 'entries'>, budget: RecoveryBudget): Budget[] {
  const counting = entries
    .flatMap(({ rows }) => rows)
    .filter(({ agentStarted, permit }) => agentStarted !== null || permit);
  const scoped = (name: (row: (typeof counting)[number]) => string | null) =>
    [...Map.groupBy(counting, name)].flatMap(([scope, rows]) =>
      scope === null ? [] : [{ scope, ...tally(rows) }],
    );
  const groups = [
    ...scoped(({ provided }) => `provider ${provided!.provider}`),
    ...scoped(({ provided }) => provided!.location && `location ${provided!.location}`),
  ].filter(({ permits }) => permits > 0);
  const fleet = tally(counting);
  return [
    { scope: 'fleet', permits: fleet.permits, limit: fleetBudget(budget, fleet.counted) },
    ...groups.map(({ scope, permits, counted }) => ({
      scope,
      permits,
      limit: groupBudget(budget, counted),
    })),
  ];
}

const tally = (rows: readonly { readonly permit: boolean }[]) => ({
  permits: rows.filter(({ permit }) => permit).length,
  counted: rows.length,
});
