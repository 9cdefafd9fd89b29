import type { MachineId } from '../../../domain/ids.ts';
import type { MachineRow, Process } from '../../../domain/machine.ts';
import type { LiveSession } from './live.ts';

/** What a claim got: its epoch, and the machine as it was then. */
export interface Taken {
  readonly epoch: string;
  readonly row: MachineRow;
}

/** The claim as all its transactions see it. */
export interface Held extends Taken {
  readonly session: LiveSession;
  readonly process: Process;
  readonly machineId: MachineId;
}
