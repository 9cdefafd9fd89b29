import { writeHistory } from './records.ts';
import { dropPermit } from './tables.ts';
import type { MemMachine, Memory, MemWork } from './tables.ts';

/** Frees the lease without a record. */
export function dropLease(machine: MemMachine, work: MemWork): void {
  machine.leases = machine.leases.filter((each) => each !== work);
}

/** Frees leases, with history, and returns permits under which nothing was requested. */
export function cancelWork(
  memory: Memory,
  cause: string,
  which: (work: MemWork) => boolean,
): number {
  let count = 0;
  for (const machine of memory.machines.values()) {
    count += cancelOn(memory, machine, cause, which);
  }
  return count;
}

/** The same for one machine. */
export function cancelOn(
  memory: Memory,
  machine: MemMachine,
  cause: string,
  which: (work: MemWork) => boolean,
): number {
  const gone = machine.leases.filter(which);
  for (const work of gone) {
    dropLease(machine, work);
    writeHistory(memory, work, 'Canceled', cause);
    memory.touch(work.machineId);
  }
  if (gone.length > 0 && !isPermitUsed(machine)) dropPermit(memory, machine);
  return gone.length;
}

const isPermitUsed = ({ permitGrantedAtMs, row: { recovery } }: MemMachine): boolean =>
  permitGrantedAtMs !== null && (recovery?.askedAtMs ?? -Infinity) >= permitGrantedAtMs;
