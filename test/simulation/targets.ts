import type { RequestedThing, RequestTarget } from '../../src/adapters/bmdb/port.ts';
import { explain } from '../../src/domain/errors.ts';
import type { StubDevice } from '../../src/adapters/provider/stub/device.ts';
import type { MachineRow } from '../../src/domain/machine.ts';
import { targetOf } from '../contracts/requests-of.ts';
import type { SimulatedMachine } from '../doubles/mem-machines.ts';
import type { Simulation } from './simulation.ts';

/** Chooses by position: a figure in [0, 1) means the same slot in every run of a plan. */
function slotAt({ world }: Simulation, figure: number): string {
  const slots = world.provider.reservationIds();
  return slots[Math.floor(figure * slots.length)]!;
}

/** The device on a slot; null: there is none. */
export function deviceAt(simulation: Simulation, figure: number): StubDevice | null {
  return simulation.world.provider.account.world.onSlot(slotAt(simulation, figure)) ?? null;
}

export function hostAt(
  simulation: Simulation,
  figure: number,
): { readonly address: string; readonly machine: SimulatedMachine } | null {
  const address = deviceAt(simulation, figure)?.addresses[0];
  const machine = address && simulation.world.hosts.get(`${address}:22`);
  return machine ? { address, machine } : null;
}

/** The row of the machine on a slot; null: there is none. */
export function machineAt({ world, ...rest }: Simulation, figure: number): MachineRow | null {
  const slot = slotAt({ world, ...rest }, figure);
  const rows = [...world.bmdb.tables.machines.values()].map(({ row }) => row);
  return rows.find(({ provided }) => provided?.reservationId === slot) ?? null;
}

let asked = 0;

/** An operator asks for something. What the database refuses is told in the story. */
export function askOf(
  { world, recorder, clock, plan }: Simulation,
  row: MachineRow | null,
  what: (target: RequestTarget) => RequestedThing,
): string {
  const target = row ? targetOf(row) : null;
  const thing = what(target!);
  asked += 1;
  const key = `operator ${plan.seed} ${clock.monotonic()} ${asked}`;
  world.bmdb.requests
    .file({ key, by: 'ann', reason: 'simulation', what: thing })
    .catch((error: unknown) => recorder.note(`refused ${thing.verb}: ${explain(error)}`));
  return `${thing.verb} of ${target ? `${target.machineId} on ${target.slotId}` : 'the fleet'}`;
}
