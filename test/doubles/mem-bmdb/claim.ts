import { exclusionGroup, isLadder, orderFor } from '../../../src/domain/eligibility.ts';
import { NothingToDo, WorkConflict } from '../../../src/domain/errors.ts';
import type { MachineId } from '../../../src/domain/ids.ts';
import type { Process } from '../../../src/domain/machine.ts';
import type { SessionGate, Memory, MemWork } from './tables.ts';
import { cancelOn } from './leases.ts';
import { isUnderWay } from '../../../src/domain/recovery/permits.ts';
import { refuseClaim } from './permits.ts';
import { writeHistory } from './records.ts';
import { refusalFor, rowOf } from './rows.ts';
import { createWork } from './work.ts';
import type { Work } from '../../../src/adapters/bmdb/port.ts';

/** See `BmdbSession.claim`. */
export function claim(
  memory: Memory,
  gate: SessionGate,
  process: Process,
  machineId: MachineId,
): Work {
  gate.check();
  const machine = memory.machines.get(machineId);
  if (!machine) throw new NothingToDo(`there is no machine ${machineId}`);
  const reason = refusalFor(memory, process, machine);
  if (reason === 'it is being worked on') {
    throw new WorkConflict(`machine ${machineId} is not free for ${process}: ${reason}`);
  }
  if (reason)
    throw new NothingToDo(`machine ${machineId} is not eligible for ${process}: ${reason}`);
  // No live session holds the lease of this group; otherwise the claim was refused above.
  const group = exclusionGroup(process);
  const isDead = (work: MemWork) => exclusionGroup(work.process) === group;
  cancelOn(memory, machine, 'session expired', isDead);
  const row = rowOf(memory, machine);
  if (isLadder(process) && !row.permit && !isUnderWay(row)) {
    refuseClaim(memory, machine, orderFor(process, row, memory.now()) !== null);
  }
  const work: MemWork = {
    machineId,
    process,
    sessionId: gate.sessionId,
    epoch: String(memory.nextNumber()),
    startedAtMs: memory.now(),
  };
  machine.leases = [...machine.leases, work];
  writeHistory(memory, work, 'Started');
  memory.touch(machineId);
  return createWork({ memory, gate, machine, work, row: rowOf(memory, machine) });
}
