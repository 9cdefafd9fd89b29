import { bySeniority, seniorityOf } from '../eligibility.ts';
import type { MachineRow } from '../machine.ts';
import { FLEET } from '../recovery/guard-judgement.ts';
import { ORDERS_KEPT } from '../policy.ts';
import type { BudgetUse } from '../recovery/permits.ts';

/** A machine's place among those that wait for a permit to be recovered. */
export interface Queue {
  /** `fleet`, `provider <name>`, or `location <name>`: the scope that has no room. */
  readonly scope: string;
  /** From 1. */
  readonly place: number;
  readonly of: number;
}

/** One permit is kept for orders. */
const isFull = ({ permits, budget }: BudgetUse, { order }: MachineRow): boolean =>
  permits >= budget + (order === null ? 0 : ORDERS_KEPT);

/** Those that wait in a scope without room. */
interface Crowd {
  readonly use: BudgetUse;
  readonly order: number;
  /** So many were counted, and so many there are. */
  seen: number;
  of: number;
}

/** A machine that waits, and where it stands in the queue of the first scope without room for it. */
export interface Queued {
  readonly row: MachineRow;
  /** Null: there is room everywhere, so it is something else that it waits for. */
  readonly queue: Queue | null;
}

/**
 * All that wait for a permit, the one whose turn is next first, each with its place in the queue of the
 * first scope that has no room for it. Costs one pass for all of them.
 */
export function queueInOrder(
  waiting: Iterable<MachineRow>,
  budgets: readonly BudgetUse[],
): readonly Queued[] {
  const full = new Map(
    budgets
      .filter(({ permits, budget }) => permits >= budget)
      .map((use, order): [string, Crowd] => [use.scope, { use, order, seen: 0, of: 0 }]),
  );
  const scopesOf = (row: MachineRow) =>
    scopeNames(row)
      .flatMap((scope) => full.get(scope) ?? [])
      .toSorted((a, b) => a.order - b.order);
  const rows = [...waiting]
    .map((row) => ({ row, ...seniorityOf('ShepherdRecovery', row) }))
    .toSorted(bySeniority)
    .map(({ row }) => ({ row, scopes: scopesOf(row) }));
  for (const { scopes } of rows) for (const scope of scopes) scope.of += 1;
  return rows.map(({ row, scopes }) => {
    for (const scope of scopes) scope.seen += 1;
    const first = scopes.find(({ use }) => isFull(use, row));
    const isQueued = first && !row.permit && row.provided !== null;
    const queue = isQueued ? { scope: first.use.scope, place: first.seen, of: first.of } : null;
    return { row, queue };
  });
}

/** The scopes of the budget that the machine counts in. */
export function scopeNames({ provided }: MachineRow): readonly string[] {
  if (provided === null) return [FLEET];
  const names = [FLEET, `provider ${provided.provider}`];
  return provided.location === null ? names : [...names, `location ${provided.location}`];
}

/** Where one machine stands. @param waiting all that wait for a permit; it may be among them. */
export function queueOf(
  row: MachineRow,
  budgets: readonly BudgetUse[],
  waiting: Iterable<MachineRow>,
): Queue | null {
  const others = [...waiting].filter(({ machineId }) => machineId !== row.machineId);
  return queueInOrder([...others, row], budgets).find((each) => each.row === row)!.queue;
}
