import { refusal } from '../../../src/domain/eligibility.ts';
import type { Circumstances, Ineligibility } from '../../../src/domain/eligibility.ts';
import { slotOfRow } from '../../../src/domain/submission/named-fleet.ts';
import type { SessionId } from '../../../src/domain/ids.ts';
import { DRAIN_MODES } from '../../../src/domain/machine.ts';
import type { MachineRow, OrderRow, Process } from '../../../src/domain/machine.ts';
import type { OrderVerb } from '../../../src/domain/verbs.ts';
import { isOnSlot } from '../../../src/domain/requests.ts';
import { episodesOf } from './episodes.ts';
import type { MemMachine, Memory, MemWork } from './tables.ts';

export const isSessionAlive = (memory: Memory, id: SessionId): boolean =>
  (memory.sessions.get(id)?.deadlineMs ?? Number.NEGATIVE_INFINITY) > memory.now();

/** Leases of live sessions. Leases of dead sessions do not count. */
export const liveWork = (memory: Memory, machine: MemMachine): readonly MemWork[] =>
  machine.leases.filter((each) => isSessionAlive(memory, each.sessionId));

/** The machine as a reader sees it. */
export function rowOf(memory: Memory, machine: MemMachine): MachineRow {
  const { row, permitGrantedAtMs } = machine;
  const work = liveWork(memory, machine).map(({ machineId: _, ...live }) => live);
  const labels = memory.labels.get(slotOfRow(row) ?? '') ?? null;
  return {
    ...row,
    slot: { labels, ...episodesOf(memory, row) },
    work,
    permit: permitGrantedAtMs !== null,
    order: orderOf(memory, row),
  };
}

/** The machine's order, if it may still be carried out. */
function orderOf({ orders, requests, now }: Memory, row: MachineRow): OrderRow | null {
  const found = requests.get(orders.get(row.machineId) ?? '');
  if (!found || found.expiresAtMs <= now() || !isOnSlot(row, found)) return null;
  const { key, verb, by, reason, expiresAtMs, parameters } = found;
  const force = parameters['force'] === true;
  const drain = DRAIN_MODES.find((each) => each === parameters['drain']) ?? null;
  return { key, verb: verb as OrderVerb, by, reason, force, drain, expiresAtMs };
}
export const rowsOf = (memory: Memory): MachineRow[] =>
  [...memory.machines.values()].map((machine) => rowOf(memory, machine));

/** The predicates' inputs besides a row. */
export const circumstances = (memory: Memory): Circumstances => ({
  holds: memory.holds,
  nowMs: memory.now(),
  loss: memory.options.loss,
});

export const refusalFor = (
  memory: Memory,
  process: Process,
  machine: MemMachine,
): Ineligibility | null => refusal(process, rowOf(memory, machine), circumstances(memory));
