import type { MachineRow } from '../../../src/domain/machine.ts';
import type { SessionGate } from './gate.ts';
import type { MemMachine, Memory, MemWork } from './tables.ts';

/** A claim, as everything that follows it sees it. */
export interface Held {
  readonly memory: Memory;
  readonly gate: SessionGate;
  readonly machine: MemMachine;
  readonly work: MemWork;
  /** At the claim. */
  readonly row: MachineRow;
}
