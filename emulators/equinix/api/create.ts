import type { EquinixCore } from '../core.ts';
import type { Lifecycle } from '../life/lifecycle.ts';
import {
  type EquinixDevice,
  isProvisionable,
  type Reservation,
  type EquinixSshKey,
} from '../state/state.ts';
import { createDevice } from '../world.ts';
import { type EquinixCall, invalid, named, readInput } from './call.ts';
import { type DeviceCreate, deviceCreate, givenFields, plainFields } from './inputs.ts';

/**
 * Creates a device, on a reservation or on demand. All rules are checked before any change.
 * @throws {ApiRefusal} 422 naming the field.
 */
export function create(core: EquinixCore, lifecycle: Lifecycle, call: EquinixCall): EquinixDevice {
  const { state, ids, now } = core;
  const { id: projectId } = named(core, call, state.projects);
  const isEarly = ({ when }: { when: string }) => when === 'betweenCheckAndCreate';
  const wanted = state.reservations.get(String(call.input['hardware_reservation_id']));
  const isRaced = wanted && isProvisionable(wanted) && call.strike('race', isEarly);
  if (isRaced) lifecycle.snatch(wanted);

  const order = readInput(deviceCreate, call);
  const problems = problemsOf(core, order);
  if (problems.length > 0) throw invalid(...problems);
  const keys = keysOf(core, projectId, order);
  const facilities = facilitiesAt(core, order);
  const reservation = reservationOf(core, projectId, order, facilities);
  const facility = reservation?.facility ?? facilities[0];
  if (facility === undefined) {
    throw invalid('facility: no facility fits the metro and facility given');
  }
  const device = createDevice(ids, now(), {
    ...{ projectId, plan: order.plan, operatingSystem: order.operating_system, facility },
    reservationId: reservation?.id ?? null,
    fields: { ...plainFields(`device-${ids.hex(8)}`), ...givenFields(order) },
    installation: { sinceMs: now(), brokenAtMs: null },
    sshKeyIds: keys.map(({ id }) => id),
    authorizedKeys: keys.map(({ key }) => key.trim()),
  });
  lifecycle.begin(device, reservation);
  return device;
}

/** The order's values that the catalogue lacks, as messages with the field. */
function problemsOf({ state }: EquinixCore, order: DeviceCreate): string[] {
  const { plans, operatingSystems, metros, facilities } = state.catalogue;
  const { plan, operating_system: system, metro, facility = [] } = order;
  const isPlaced = metro !== undefined || facility.length > 0;
  const isReserved = order.hardware_reservation_id !== undefined;
  const unless = (holds: boolean, problem: string) => (holds ? [] : [problem]);
  return [
    ...unless(
      plans.some(({ slug }) => slug === plan),
      `plan: "${plan}" is not a valid plan`,
    ),
    ...unless(
      operatingSystems.some(({ slug }) => slug === system),
      `operating_system: "${system}" is not a valid operating system`,
    ),
    ...unless(
      metro === undefined || metros.some(({ code }) => code === metro),
      `metro: "${metro}" is not a valid metro`,
    ),
    ...facility.flatMap((wanted) =>
      unless(
        facilities.some(({ code }) => code === wanted),
        `facility: "${wanted}" is not a valid facility`,
      ),
    ),
    ...unless(isPlaced || isReserved, 'metro: one of metro and facility must be given'),
  ];
}

/** Codes of all facilities that fit the order. */
const facilitiesAt = ({ state }: EquinixCore, { metro, facility = [] }: DeviceCreate): string[] =>
  state.catalogue.facilities
    .filter((one) => metro === undefined || one.metro === metro)
    .map(({ code }) => code)
    .filter((code) => facility.length === 0 || facility.includes(code));

/** The order's keys; by default all keys of the project and the user. */
function keysOf({ state }: EquinixCore, projectId: string, order: DeviceCreate): EquinixSshKey[] {
  const all = [...state.sshKeys.values()];
  const names = order.project_ssh_keys ?? [];
  if (names.length === 0) {
    return all.filter((key) => key.projectId === null || key.projectId === projectId);
  }
  return names.map((id) => {
    const key = all.find((one) => one.id === id && one.projectId === projectId);
    if (!key) throw invalid(`project_ssh_keys: no such key "${id}"`);
    return key;
  });
}

function reservationOf(
  { state }: EquinixCore,
  projectId: string,
  { hardware_reservation_id: wanted, plan }: DeviceCreate,
  facilities: readonly string[],
): Reservation | undefined {
  if (wanted === undefined) return undefined;
  const reservation = state.reservations.get(wanted);
  if (reservation?.projectId !== projectId) {
    throw invalid(`hardware_reservation_id: "${wanted}" is not a reservation of this project`);
  }
  if (!isProvisionable(reservation)) {
    throw invalid('hardware_reservation_id: Server is not provisionable');
  }
  if (reservation.plan !== plan) {
    throw invalid(`plan: "${plan}" is not the plan of the hardware reservation`);
  }
  if (!facilities.includes(reservation.facility)) {
    throw invalid('metro: is not where the hardware reservation stands');
  }
  return reservation;
}
