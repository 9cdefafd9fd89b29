import { askRefusal } from '../../../src/domain/eligibility.ts';
import { slotIdOf, slotOf } from '../../../src/domain/ids.ts';
import type { Provided } from '../../../src/domain/machine.ts';
import {
  deprovisionedLines,
  type Deprovisioned,
} from '../../../src/adapters/bmdb/preconditions.ts';
import { NothingToDo } from '../../../src/domain/errors.ts';
import { type HeldWork, patch, type Memory } from './tables.ts';
import { endEpisode } from './episodes.ts';
import { cancelOn } from './leases.ts';
import { writeEvent } from './records.ts';
import { circumstances, rowOf } from './rows.ts';

/** @throws {NothingToDo} the request was withdrawn, or a hold preserves the machine now. */
export function noteDeprovisionAsked({ memory, gate, machine, work }: HeldWork): void {
  const { deprovision, machineId } = machine.row;
  const refusal = askRefusal(work.process, rowOf(memory, machine), circumstances(memory));
  const reason = refusal ?? (deprovision ? null : 'nobody asked to deprovision it');
  if (reason) throw new NothingToDo(`machine ${machineId} was not given back: ${reason}`);
  const attempts = deprovision!.attempts + 1;
  patch(machine, { deprovision: { ...deprovision!, attempts, askedAtMs: memory.now() } });
  const { component: actor } = gate;
  writeEvent(memory, machine.row, {
    kind: 'deprovisionAsked',
    actor,
    reason: `attempt ${attempts}`,
  });
}

/** Deletes the machine's rows: only history remains, and perhaps a hold on its slot. */
export function forgetMachine({ memory, gate, machine }: HeldWork, change: Deprovisioned): void {
  const { machineId } = machine.row;
  cancelOn(memory, machine, 'deprovisioned', () => true);
  for (const { kind, reason } of deprovisionedLines(machine.row, change)) {
    writeEvent(memory, machine.row, { kind, actor: gate.component, reason });
  }
  if (change.bar && machine.row.provided) bar(memory, machine.row.provided, change.bar);
  endEpisode(memory, machine);
  memory.machines.delete(machineId);
}

/** A hold without an end stays unchanged. */
function bar(
  memory: Memory,
  { provider, providerId, reservationId }: Provided,
  { setBy, reason }: NonNullable<Deprovisioned['bar']>,
): void {
  const slotId = slotIdOf(slotOf(provider, { reservationId, id: providerId }));
  const isSame = (each: Memory['holds'][number]) =>
    each.provider === provider && each.slotId === slotId && each.kind === 'no-allocate';
  if (
    memory.holds.some(
      (each) => isSame(each) && each.untilMs === null && (each.fromMs ?? null) === null,
    )
  )
    return;
  const set = { provider, slotId, kind: 'no-allocate', setBy, reason, untilMs: null } as const;
  memory.holds = [...memory.holds.filter((each) => !isSame(each)), set];
}
