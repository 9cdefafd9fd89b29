import { lastAttemptMs } from './eligibility.ts';
import type { MachineRow, Process } from './machine.ts';

/** Decides which waiting machine is served first. */
export interface Seniority {
  /** See `lastAttemptMs`. */
  readonly lastAttemptMs: number | null;
  readonly machineId: string;
}

export const seniorityOf = (process: Process, row: MachineRow): Seniority => ({
  lastAttemptMs: lastAttemptMs(process, row),
  machineId: row.machineId,
});

/** Sorts by oldest attempt (never is the oldest), then by machine id. */
export function bySeniority(a: Seniority, b: Seniority): number {
  const atA = a.lastAttemptMs ?? Number.NEGATIVE_INFINITY;
  const atB = b.lastAttemptMs ?? Number.NEGATIVE_INFINITY;
  if (atA !== atB) return atA < atB ? -1 : 1;
  return a.machineId < b.machineId ? -1 : Number(a.machineId > b.machineId);
}
