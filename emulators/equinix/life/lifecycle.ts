import type { EquinixCore } from '../core.ts';
import {
  type EquinixDevice,
  type DeviceState,
  isProvisionable,
  remember,
  type Reservation,
  type Timer,
} from '../state/state.ts';
import { DEFAULT_OPERATING_SYSTEM } from '../state/catalogue.ts';
import { plainFields } from '../api/inputs.ts';
import { createDevice } from '../world.ts';
import type { DeviceMachines } from './machines.ts';

export type Lifecycle = ReturnType<typeof createLifecycle>;

/** How devices and their machines change state. Callers check the rules first. */
export function createLifecycle(core: EquinixCore, machines: DeviceMachines) {
  const { state, scheduler, timings, now, ids, changed } = core;

  const note = (device: EquinixDevice, type: string, body: string) =>
    void device.events.push({ id: ids.uuid(), type, body, atMs: now() });
  const move = (device: EquinixDevice, to: DeviceState) => {
    const from = device.state;
    const isBroken = isInstalling(device) && to !== 'provisioning' && to !== 'active';
    if (isBroken && device.installation) device.installation.brokenAtMs = now();
    device.state = to;
    device.updatedAtMs = now();
    changed({ kind: 'device', id: device.id, from, to });
  };
  /** Ends the device's activity, and begins one that ends with the timer. */
  const begin = (device: EquinixDevice, to: DeviceState, timer: Timer['kind'], delayMs: number) => {
    scheduler.cancel(device.id);
    move(device, to);
    scheduler.set(timer, device.id, delayMs);
  };
  /** Its machine may take a while, and the device may change meanwhile. */
  const activate = (device: EquinixDevice) => {
    const from = device.state;
    machines.whenAssigned(device, () => {
      if (device.state !== from) return;
      move(device, 'active');
      machines.up(device);
    });
  };
  const attach = (reservation: Reservation, device: EquinixDevice) => {
    remember(reservation, now());
    reservation.deviceId = device.id;
    changed({ kind: 'reservation', id: reservation.id, from: 'free', to: 'in-use' });
  };
  /** The device leaves its reservation, which is then cleaned. */
  const release = (device: EquinixDevice) => {
    const reservation = state.reservations.get(device.reservationId ?? '');
    if (reservation?.deviceId !== device.id) return;
    remember(reservation, now());
    reservation.deviceId = null;
    reservation.cleaning = true;
    scheduler.set('clean', reservation.id, timings.cleaningMs);
    changed({ kind: 'reservation', id: reservation.id, from: 'in-use', to: 'cleaning' });
  };
  const clean = (reservation: Reservation) => {
    remember(reservation, now());
    reservation.cleaning = false;
    changed({ kind: 'reservation', id: reservation.id, from: 'cleaning', to: 'free' });
  };
  const forget = (device: EquinixDevice) =>
    machines.gone(device, () => {
      state.devices.delete(device.id);
      changed();
    });
  const remove = (device: EquinixDevice) => {
    scheduler.cancel(device.id);
    move(device, 'deleted');
    release(device);
    forget(device);
  };

  const due: Record<Exclude<Timer['kind'], 'clean'>, (device: EquinixDevice) => void> = {
    provision: (device) => move(device, 'provisioning'),
    assign: machines.assign,
    installed: activate,
    'powered-off': (device) => {
      move(device, 'inactive');
      machines.down(device);
    },
    'powered-on': activate,
    'machine-down': machines.down,
    'machine-up': machines.up,
    reinstalled: (device) => {
      device.machine.wipePending = true;
      note(device, 'reinstall.completed', 'Reinstall complete');
      activate(device);
    },
    remove,
  };
  /** Ends a state whose timer fired while the machine was being asked. */
  const ends = new Map<string, Timer['kind']>([
    ['provisioning', 'installed'],
    ['powering_on', 'powered-on'],
    ['reinstalling', 'powered-on'],
  ]);

  return {
    /** Starts the installation of a new device, on the reservation if there is one. */
    begin(device: EquinixDevice, reservation: Reservation | undefined): void {
      state.devices.set(device.id, device);
      if (reservation) attach(reservation, device);
      note(device, 'device.created', 'Device created');
      scheduler.set('provision', device.id, timings.queuedMs);
      scheduler.set('assign', device.id, timings.addressesMs);
      scheduler.set('installed', device.id, timings.queuedMs + timings.provisioningMs);
      changed({ kind: 'device', id: device.id, from: null, to: 'queued' });
    },
    startDelete(device: EquinixDevice): void {
      note(device, 'delete.requested', 'Delete requested');
      begin(device, 'deprovisioning', 'remove', timings.deprovisioningMs);
      machines.down(device);
    },
    powerOff(device: EquinixDevice): void {
      note(device, 'power_off.requested', 'Power off requested');
      begin(device, 'powering_off', 'powered-off', timings.poweringOffMs);
    },
    powerOn(device: EquinixDevice): void {
      note(device, 'power_on.requested', 'Power on requested');
      begin(device, 'powering_on', 'powered-on', timings.poweringOnMs);
    },
    /** Keeps the state. */
    reboot(device: EquinixDevice): void {
      note(device, 'reboot.requested', 'reboot requested');
      changed();
      if (device.state !== 'active') return;
      scheduler.set('machine-down', device.id, timings.rebootDownMs);
      scheduler.set('machine-up', device.id, timings.rebootUpMs);
    },
    reinstall(device: EquinixDevice, operatingSystem: string | undefined): void {
      device.operatingSystem = operatingSystem ?? device.operatingSystem;
      note(device, 'reinstall.requested', 'Reinstall requested');
      begin(device, 'reinstalling', 'reinstalled', timings.reinstallMs);
      machines.down(device);
    },
    /** Sets the device's state at once, whatever it was doing. */
    force(device: EquinixDevice, to: DeviceState): void {
      if (to === 'deleted') return remove(device);
      scheduler.cancel(device.id);
      move(device, to);
      if (to === 'active') machines.whenAssigned(device, () => machines.up(device));
      else if (device.machine.up) machines.down(device);
      if (to === 'deprovisioning') scheduler.set('remove', device.id, timings.deprovisioningMs);
    },
    /** A foreign device without a machine, active at once, takes the reservation if it is free. */
    snatch(reservation: Reservation | undefined): EquinixDevice | undefined {
      if (!reservation || !isProvisionable(reservation)) return undefined;
      const { projectId, plan, facility } = reservation;
      const device = createDevice(ids, now(), {
        ...{ projectId, plan, facility, reservationId: reservation.id, state: 'active' },
        operatingSystem: DEFAULT_OPERATING_SYSTEM,
        fields: plainFields(`stranger-${ids.hex(8)}`),
        machine: { paper: true, up: true, sshPort: null, wipePending: false },
      });
      state.devices.set(device.id, device);
      attach(reservation, device);
      machines.assign(device);
      changed({ kind: 'device', id: device.id, from: null, to: 'active' });
      return device;
    },
    /** Runs one due timer. */
    run({ kind, subject }: Timer): void {
      const device = state.devices.get(subject);
      const reservation = state.reservations.get(subject);
      if (kind !== 'clean') {
        if (device) due[kind](device);
      } else if (reservation) clean(reservation);
    },
    /** Restores the machines after a start. @param awayMs duration of the standstill. */
    resume(awayMs: number): void {
      for (const device of state.devices.values()) {
        if (device.state === 'deleted') {
          forget(device);
          continue;
        }
        if (isInstalling(device) && device.installation) device.installation.sinceMs += awayMs;
        const { up } = device.machine;
        if (up || device.addresses.length > 0 || device.state === 'inactive')
          machines.assign(device);
        if (up) machines.up(device);
        const end = ends.get(device.state);
        if (end && !scheduler.has(device.id)) scheduler.set(end, device.id, 0);
      }
    },
  };
}

const isInstalling = ({ state }: EquinixDevice): boolean =>
  state === 'queued' || state === 'provisioning';
