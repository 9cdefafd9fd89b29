import type { RequestedThing, RequestTarget } from '../../src/adapters/bmdb/port.ts';
import { explain } from '../../src/domain/errors.ts';
import type { MachineRow } from '../../src/domain/machine.ts';
import { targetOf } from '../contracts/requests-of.ts';
import type { SimulatedMachine } from '../doubles/mem-machines.ts';
import type { SimulatedDevice } from '../doubles/provider/world.ts';
import type { Simulation } from './simulation.ts';

export interface SimulatedHost {
  readonly address: string;
  readonly machine: SimulatedMachine;
}

/** Picks by position: a figure in [0, 1) means the same slot in every run of a plan. */
export function slotAt({ world }: Simulation, figure: number): string | null {
  const slots = world.provider.reservationIds();
  return slots[Math.floor(figure * slots.length)] ?? null;
}

/** The device on a slot; null: none. */
export function deviceAt(simulation: Simulation, figure: number): SimulatedDevice | null {
  const slot = slotAt(simulation, figure);
  return (slot && simulation.world.provider.world.onSlot(slot)) || null;
}

/** A location and its devices. */
export function devicesAt({ world, plan }: Simulation, figure: number) {
  const location = `hall${1 + Math.floor(figure * plan.locations)}`;
  const devices = world.provider.world.devices();
  return [location, devices.filter((device) => device.plan.location === location)] as const;
}

export function hostAt(simulation: Simulation, figure: number): SimulatedHost | null {
  const address = deviceAt(simulation, figure)?.addresses[0];
  const machine = address && simulation.world.hosts.get(`${address}:22`);
  return machine ? { address, machine } : null;
}

/** The machine's present address, since it may have moved. */
export const addressOf = ({ world }: Simulation, machine: SimulatedMachine): string | undefined =>
  [...world.hosts].find(([, each]) => each === machine)?.[0].replace(/:22$/, '');

/** The machine row of a slot; null: none. */
export function machineAt(simulation: Simulation, figure: number): MachineRow | null {
  const slot = slotAt(simulation, figure);
  const rows = [...simulation.world.bmdb.tables.machines.values()].map(({ row }) => row);
  return rows.find(({ provided }) => provided && provided.reservationId === slot) ?? null;
}

/** Number of operator requests by simulation, a part of each key. */
const asked = new WeakMap<Simulation['world'], number>();
export function newKey({ world }: Simulation): string {
  const number = (asked.get(world) ?? 0) + 1;
  asked.set(world, number);
  return `operator ${number}`;
}

/** Submits an operator request. The story tells what the database refuses. */
export function ask(simulation: Simulation, thing: RequestedThing): string {
  const { world, recorder } = simulation;
  world.bmdb.requests
    .submit({ key: newKey(simulation), by: 'ann', reason: 'simulation', what: thing })
    .catch((error: unknown) => recorder.note(`refused ${thing.verb}: ${explain(error)}`));
  return 'target' in thing
    ? `${thing.verb} of ${thing.target.machineId} on ${thing.target.slotId}`
    : `${thing.verb} of ${'scope' in thing ? thing.scope : 'pool' in thing ? thing.pool : thing.provider}`;
}

/** The same for one machine; does nothing if there is none. */
export function askOf(
  simulation: Simulation,
  figure: number,
  what: (target: RequestTarget, row: MachineRow) => RequestedThing,
): string | null {
  const row = machineAt(simulation, figure);
  return row && ask(simulation, what(targetOf(row), row));
}
