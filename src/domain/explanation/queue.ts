import { bySeniority, seniorityOf } from '../seniority.ts';
import type { MachineRow } from '../machine.ts';
import { FLEET } from '../recovery/guard-judgement.ts';
import { ORDERS_KEPT } from '../policy.ts';
import type { BudgetUse } from '../recovery/permits.ts';

/** A machine's position among those that wait for a recovery permit. */
export interface Queue {
  /** The scope without room: `fleet`, `provider <name>`, or `location <name>`. */
  readonly scope: string;
  /** From 1. */
  readonly place: number;
  readonly of: number;
}

/** One permit is reserved for orders. */
const isFull = ({ permits, budget }: BudgetUse, { order }: MachineRow): boolean =>
  permits >= budget + (order === null ? 0 : ORDERS_KEPT);

/** Machines that wait in a full scope. */
interface Crowd {
  readonly use: BudgetUse;
  readonly order: number;
  /** Number of machines counted so far, and in total. */
  seen: number;
  of: number;
}

/** A waiting machine, and its position in the queue of the first full scope. */
export interface Queued {
  readonly row: MachineRow;
  /** Null: all scopes have room, so that the machine waits for something else. */
  readonly queue: Queue | null;
}

/**
 * All machines that wait for a permit, in the order of service. Each has its position in the queue
 * of its first full scope. Takes one pass for all machines.
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

/** The budget scopes in which the machine counts. */
export function scopeNames({ provided }: MachineRow): readonly string[] {
  if (provided === null) return [FLEET];
  const names = [FLEET, `provider ${provided.provider}`];
  return provided.location === null ? names : [...names, `location ${provided.location}`];
}

/** The position of one machine. @param waiting all waiting machines; may include this one. */
export function queueOf(
  row: MachineRow,
  budgets: readonly BudgetUse[],
  waiting: Iterable<MachineRow>,
): Queue | null {
  const others = [...waiting].filter(({ machineId }) => machineId !== row.machineId);
  return queueInOrder([...others, row], budgets).find((each) => each.row === row)!.queue;
}
