import type { Core } from './core.ts';
import type { Device, DeviceState, EventRecord, Reservation } from './state.ts';

/** The device is now in another state. */
export function move(core: Core, device: Device, to: DeviceState): void {
  const from = device.state;
  device.state = to;
  device.updatedAtMs = core.now();
  core.changed({ kind: 'device', id: device.id, from, to });
}

/** Writes an event into the device's history. */
export function note(core: Core, device: Device, type: string, body: string): EventRecord {
  const event = { id: core.ids.uuid(), type, body, atMs: core.now() };
  device.events.push(event);
  core.changed();
  return event;
}

/** The reservation now carries the device. */
export function attach(core: Core, reservation: Reservation, device: Device): void {
  reservation.deviceId = device.id;
  reservation.changedAtMs = core.now();
  core.changed({ kind: 'reservation', id: reservation.id, from: 'free', to: 'in-use' });
}

/** The device leaves its reservation, which is then cleaned. */
export function release(core: Core, device: Device): void {
  const reservation = core.state.reservations.get(device.reservationId ?? '');
  if (reservation?.deviceId !== device.id) return;
  reservation.deviceId = null;
  reservation.cleaning = true;
  reservation.changedAtMs = core.now();
  core.scheduler.add('clean', reservation.id, core.timings.cleaningMs);
  core.changed({ kind: 'reservation', id: reservation.id, from: 'in-use', to: 'cleaning' });
}

/** The reservation can be used again. */
export function clean(core: Core, reservation: Reservation): void {
  reservation.cleaning = false;
  reservation.changedAtMs = core.now();
  core.changed({ kind: 'reservation', id: reservation.id, from: 'cleaning', to: 'free' });
}
