import type { Core } from '../core.ts';
import type { DeviceMachines } from './device-machine.ts';
import type { Device, DeviceState, Reservation, Timer } from '../state/state.ts';
import { attach, clean, move, note, release } from './device-record.ts';
import { createDevice } from '../state/genesis.ts';
import { createProvisioning } from './provisioning.ts';
import { terminationOf } from '../state/state.ts';

/** How devices move from state to state, and their machines with them. Rules are checked before. */
export interface Lifecycle {
  /** A device that was just put into the state as `queued`. */
  startProvisioning(device: Device): void;
  /** Asks the faults once more how the device's provisioning ends. */
  condemn(device: Device): void;
  startDelete(device: Device): void;
  powerOff(device: Device): void;
  powerOn(device: Device): void;
  /** Reboot or rescue: the state stays as it is. */
  restart(device: Device, action: 'reboot' | 'rescue'): void;
  reinstall(device: Device, how: { fast: boolean; operatingSystem?: string | undefined }): void;
  /** Puts the device into the state at once, whatever it was doing. */
  force(device: Device, state: DeviceState): void;
  /** A foreign device, active at once and without a machine, takes the free reservation. */
  snatch(reservation: Reservation): Device;
  /** Runs one due timer. */
  run(timer: Timer): void;
  /** After a start: machines get back what the state says they are. */
  resume(): void;
}

export function createLifecycle(core: Core, machines: DeviceMachines): Lifecycle {
  const { state, scheduler, timings } = core;
  const provisioning = createProvisioning(core, machines);

  /** Ends whatever the device was doing, and begins something that ends with the timer. */
  const begin = (device: Device, to: DeviceState, timer: Timer['kind'], delayMs: number) => {
    scheduler.cancel(device.id);
    move(core, device, to);
    scheduler.add(timer, device.id, delayMs);
  };
  const activate = (device: Device) =>
    machines.whenAssigned(device, () => {
      move(core, device, 'active');
      machines.up(device);
    });
  const forget = (device: Device) => {
    if (!device.machine.gone || scheduler.has(device.id)) return;
    state.devices.delete(device.id);
    forgetEmptied(core, device.projectId);
    core.changed();
  };
  /** A device that ends by itself: not one that is locked against a deletion. */
  const terminate = (device: Device) => {
    if (!device.locked && !isLeaving(device)) startDelete(device);
  };
  const startDelete = (device: Device) => {
    note(core, device, 'delete.requested', 'Delete requested');
    begin(device, 'deprovisioning', 'remove', timings.deprovisioningMs);
    machines.down(device);
  };
  const remove = (device: Device) => {
    scheduler.cancel(device.id);
    scheduler.cancel(terminationOf(device.id));
    move(core, device, 'deleted');
    state.projects
      .get(device.projectId)
      ?.events.push({
        id: core.ids.uuid(),
        type: 'device.deleted',
        body: `Device ${device.hostname} deleted`,
        atMs: core.now(),
      });
    release(core, device);
    scheduler.add('forget', device.id, timings.tombstoneMs);
    machines.gone(device, () => forget(device));
  };

  const due: Partial<Record<Timer['kind'], (device: Device) => void>> = {
    'powered-off': (device) => {
      move(core, device, 'inactive');
      machines.down(device);
    },
    'powered-on': activate,
    'machine-down': machines.down,
    'machine-up': machines.up,
    reinstalled: (device) => {
      device.machine.wipePending = true;
      note(core, device, 'reinstall.completed', 'Reinstall complete');
      activate(device);
    },
    remove,
    forget,
  };

  const resume = (device: Device) => {
    if (device.state === 'deleted') {
      if (!scheduler.has(device.id)) scheduler.add('forget', device.id, 0);
      machines.gone(device, () => forget(device));
      return;
    }
    const assigned = device.addresses.length > 0 || device.state === 'inactive';
    if (assigned || device.machine.up) machines.assign(device);
    if (device.machine.up) machines.up(device);
    provisioning.resume(device);
    const starting = device.state === 'powering_on' || device.state === 'reinstalling';
    if (starting && !scheduler.has(device.id)) scheduler.add('powered-on', device.id, 0);
  };

  return {
    startProvisioning: (device) => {
      provisioning.start(device);
      const endsAtMs = device.terminationTimeMs;
      if (endsAtMs !== null) {
        scheduler.add('terminate', terminationOf(device.id), endsAtMs - core.now());
      }
    },
    condemn: provisioning.condemn,
    startDelete,
    powerOff: (device) => {
      note(core, device, 'power_off.requested', 'Power off requested');
      begin(device, 'powering_off', 'powered-off', timings.poweringOffMs);
    },
    powerOn: (device) => {
      note(core, device, 'power_on.requested', 'Power on requested');
      begin(device, 'powering_on', 'powered-on', timings.poweringOnMs);
    },
    restart: (device, action) => {
      note(core, device, `${action}.requested`, `${action} requested`);
      if (device.state !== 'active') return;
      scheduler.cancel(device.id, ['machine-down', 'machine-up']);
      scheduler.add('machine-down', device.id, timings.rebootDownMs);
      scheduler.add('machine-up', device.id, timings.rebootUpMs);
    },
    reinstall: (device, { fast, operatingSystem }) => {
      if (operatingSystem !== undefined) device.operatingSystem = operatingSystem;
      note(core, device, 'reinstall.requested', 'Reinstall requested');
      const delayMs = fast ? timings.reinstallFastMs : timings.reinstallMs;
      begin(device, 'reinstalling', 'reinstalled', delayMs);
      machines.down(device);
    },
    force: (device, to) => {
      scheduler.cancel(device.id);
      if (to === 'deleted') {
        remove(device);
        return;
      }
      move(core, device, to);
      if (to === 'active') machines.whenAssigned(device, () => machines.up(device));
      else if (device.machine.up) machines.down(device);
      if (to === 'deprovisioning') scheduler.add('remove', device.id, timings.deprovisioningMs);
    },
    snatch: (reservation) => {
      const device = createStranger(core, reservation);
      state.devices.set(device.id, device);
      attach(core, reservation, device);
      machines.assign(device);
      core.changed({ kind: 'device', id: device.id, from: null, to: 'active' });
      return device;
    },
    run: ({ kind, subject }) => {
      if (kind === 'terminate') {
        const ending = [...state.devices.values()].find(({ id }) => terminationOf(id) === subject);
        if (ending) terminate(ending);
        return;
      }
      const device = state.devices.get(subject);
      const reservation = state.reservations.get(subject);
      if (kind === 'clean' && reservation) clean(core, reservation);
      if (device && !provisioning.run(kind, device)) due[kind]?.(device);
    },
    resume: () => {
      for (const device of state.devices.values()) resume(device);
    },
  };
}

/** Being deleted, or gone. */
export const isLeaving = ({ state }: Device): boolean =>
  state === 'deprovisioning' || state === 'deleted';

/** A deleted project goes with the last of its devices. */
function forgetEmptied({ state }: Core, projectId: string): void {
  const inUse = [...state.devices.values()].some((device) => device.projectId === projectId);
  if (state.projects.get(projectId)?.deleted && !inUse) state.projects.delete(projectId);
}

const createStranger = (core: Core, reservation: Reservation): Device =>
  createDevice(core.state, core.ids, core.now(), {
    projectId: reservation.projectId,
    reservationId: reservation.id,
    hostname: `stranger-${core.ids.hex(8)}`,
    plan: reservation.plan,
    facility: reservation.facility,
    operatingSystem: core.state.catalogue.operatingSystems[0]!.slug,
    state: 'active',
    machine: { paper: true, up: true, sshPort: null, wipePending: false, gone: false },
  });
