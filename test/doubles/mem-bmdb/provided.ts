import { isDeepStrictEqual } from 'node:util';
import { NotFound } from '../../../src/domain/errors.ts';
import type { MachineId } from '../../../src/domain/ids.ts';
import type { MachineRow } from '../../../src/domain/machine.ts';
import { type SessionGate, dropPermit, patch, type Memory } from './tables.ts';
import type { ProvidedPatch } from '../../../src/adapters/bmdb/port.ts';

/** See `BmdbSession.updateProvided`. */
export function updateProvided(
  memory: Memory,
  gate: SessionGate,
  machineId: MachineId,
  { absent, ...told }: ProvidedPatch,
): void {
  const given = Object.entries(told).filter(([, value]) => value !== undefined);
  if (absent === undefined && given.length === 0) return;
  gate.check();
  const machine = memory.machines.get(machineId);
  const provided = machine?.row.provided;
  if (!machine || !provided) throw new NotFound(`machine ${machineId} has no recorded hardware`);
  const before = { provided, missing: machine.row.missing };
  const after = {
    provided: { ...provided, ...Object.fromEntries(given) },
    missing: absent === undefined ? before.missing : missingAfter(memory, before.missing, absent),
  };
  if (!isDeepStrictEqual(after, before)) {
    patch(machine, after);
    memory.touch(machineId);
  }
  // A machine that the provider does not know is no longer being recovered.
  if (told.status === 'Missing') dropPermit(memory, machine);
}

const missingAfter = (
  memory: Memory,
  before: MachineRow['missing'],
  absent: boolean,
): MachineRow['missing'] =>
  absent ? { sinceMs: before?.sinceMs ?? memory.now(), seen: (before?.seen ?? 0) + 1 } : null;
