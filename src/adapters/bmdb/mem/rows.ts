import { refusal } from '../../../domain/eligibility.ts';
import type { Circumstances, Refusal } from '../../../domain/eligibility.ts';
import type { SessionId } from '../../../domain/ids.ts';
import type { MachineRow, Process } from '../../../domain/machine.ts';
import type { MemMachine, Memory, MemWork } from './tables.ts';

export const isSessionAlive = (memory: Memory, id: SessionId): boolean =>
  (memory.sessions.get(id)?.deadlineMs ?? Number.NEGATIVE_INFINITY) > memory.now();

/** Leases of live sessions; those of dead ones count for nothing. */
export const liveWork = (memory: Memory, machine: MemMachine): readonly MemWork[] =>
  machine.leases.filter((each) => isSessionAlive(memory, each.sessionId));

/** The machine as a reader sees it. */
export function rowOf(memory: Memory, machine: MemMachine): MachineRow {
  const { row, permitGrantedAtMs } = machine;
  const work = liveWork(memory, machine).map(({ machineId: _, ...live }) => live);
  return { ...row, work, permit: permitGrantedAtMs !== null };
}
export const rowsOf = (memory: Memory): MachineRow[] =>
  [...memory.machines.values()].map((machine) => rowOf(memory, machine));

/** What the predicates depend on besides a row. */
export const circumstances = (memory: Memory): Circumstances => ({
  holds: memory.holds,
  nowMs: memory.now(),
  loss: memory.options.loss,
});

export const refusalFor = (memory: Memory, process: Process, machine: MemMachine): Refusal | null =>
  refusal(process, rowOf(memory, machine), circumstances(memory));
