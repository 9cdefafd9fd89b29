import { refusal } from '../../../domain/eligibility.ts';
import { NothingToDo } from '../../../domain/errors.ts';
import type { Held } from './held.ts';
import { cancelOn } from './leases.ts';
import { writeEvent } from './records.ts';
import { circumstances } from './rows.ts';
import { patch } from './tables.ts';

/** @throws {NothingToDo} the request was taken back, or a hold preserves the machine now. */
export function noteDeprovisionAsked({ memory, gate, machine }: Held): void {
  const { deprovision, machineId } = machine.row;
  // Leaving aside who works and who waits.
  const row = { ...machine.row, work: [], backoffs: [] };
  const reason = refusal('ShepherdDeprovision', row, circumstances(memory));
  if (reason) throw new NothingToDo(`machine ${machineId} was not given back: ${reason}`);
  const attempts = deprovision!.attempts + 1;
  patch(machine, { deprovision: { ...deprovision!, attempts, askedAtMs: memory.now() } });
  const { component: actor } = gate;
  writeEvent(memory, machine.row, {
    ...{ kind: 'deprovisionAsked', actor, reason: `attempt ${attempts}` },
  });
}

/** The machine is given back: nothing but history is left of it. */
export function forgetMachine({ memory, gate, machine }: Held): void {
  const { provided, machineId } = machine.row;
  cancelOn(memory, machine, 'deprovisioned', () => true);
  const reason = `device ${provided?.providerId ?? ''}`;
  writeEvent(memory, machine.row, { kind: 'deprovisioned', actor: gate.component, reason });
  memory.machines.delete(machineId);
}
