import type { Core } from '../core.ts';
import type { Device, DeviceState, EventRecord, Reservation } from '../state/state.ts';
import { isProvisionable } from '../state/state.ts';

/** The device is now in another state. */
export function move(core: Core, device: Device, to: DeviceState): void {
  const from = device.state;
  remember(device.past, { untilMs: core.now(), state: from });
  device.state = to;
  device.updatedAtMs = core.now();
  core.changed({ kind: 'device', id: device.id, from, to });
}

/** How much of the past is kept of each thing. */
const PAST_MAX = 8;
function remember<T>(past: T[], moment: T): void {
  past.push(moment);
  if (past.length > PAST_MAX) past.shift();
}

/** The reservation is about to change: it is kept how it was. */
export const rememberReservation = (core: Core, reservation: Reservation): void =>
  remember(reservation.past, {
    untilMs: core.now(),
    deviceId: reservation.deviceId,
    free: isProvisionable(reservation),
  });

/** Writes an event into the device's history. */
export function note(core: Core, device: Device, type: string, body: string): EventRecord {
  const event = { id: core.ids.uuid(), type, body, atMs: core.now() };
  device.events.push(event);
  core.changed();
  return event;
}

/** The reservation now carries the device. */
export function attach(core: Core, reservation: Reservation, device: Device): void {
  rememberReservation(core, reservation);
  reservation.deviceId = device.id;
  core.changed({ kind: 'reservation', id: reservation.id, from: 'free', to: 'in-use' });
}

/** The device leaves its reservation, which is then cleaned. */
export function release(core: Core, device: Device): void {
  const reservation = core.state.reservations.get(device.reservationId ?? '');
  if (reservation?.deviceId !== device.id) return;
  rememberReservation(core, reservation);
  reservation.deviceId = null;
  reservation.cleaning = true;
  core.scheduler.add('clean', reservation.id, core.timings.cleaningMs);
  core.changed({ kind: 'reservation', id: reservation.id, from: 'in-use', to: 'cleaning' });
}

/** The reservation can be used again. */
export function clean(core: Core, reservation: Reservation): void {
  rememberReservation(core, reservation);
  reservation.cleaning = false;
  core.changed({ kind: 'reservation', id: reservation.id, from: 'cleaning', to: 'free' });
}
