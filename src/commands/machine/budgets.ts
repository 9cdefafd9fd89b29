import { fleetBudget, groupBudget, type RecoveryBudget } from '../../domain/policy.ts';
import type { RecordedFleet } from './recorded-fleet.ts';

/** How many machines of a scope are being recovered, of so many that may be at once. */
export interface Budget {
  /** `fleet`, `provider <name>`, or `location <name>`. */
  readonly scope: string;
  readonly permits: number;
  readonly limit: number;
}

/** Of the fleet first, then of each provider and location where some are being recovered. */
export function budgetsOf(
  { entries }: Pick<RecordedFleet, 'entries'>,
  budget: RecoveryBudget,
): Budget[] {
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
