import type { Api } from './api.ts';
import { readBody, type Call } from './call.ts';
import type { Core } from '../core.ts';
import type { Device, Project, Reservation } from '../state/state.ts';
import { projectFor } from './access.ts';
import { ApiError, invalid } from './api-error.ts';
import { createBody, orderedBy, type CreateBody, type editableFields } from './inputs.ts';
import { keysWanted, storeKey } from './ssh-keys.ts';
import { facilitiesAt, facilityCodes, isAt, leftOnDemand, unknownIn } from './stock.ts';
import { createDevice } from '../state/genesis.ts';
import { attach } from '../lifecycle/device-record.ts';
import { isProvisionable } from '../state/state.ts';

/**
 * Creates a device, on a reservation or on demand. Nothing is changed before every rule holds.
 * @throws {ApiError} 422 naming the field, or 503 when `next-available` finds nothing.
 */
export function create(api: Api, call: Call): Device {
  const { core } = api;
  const project = projectFor(core, call.caller, call.params['id']!);
  const body = withPlanSlug(core, readBody(createBody, call.body));
  const problems = [...catalogueProblems(core, body), ...hostnameProblems(body.hostname)];
  if (problems.length > 0) throw invalid(...problems);
  const wanted = keysWanted(core, project, body);
  const order = orderedBy(body, core.now());
  const reservation = reservationOf(core, project, body);
  const facility = reservation?.facility ?? facilityOf(core, body);
  const home = { projectId: project.id, organizationId: project.organizationId };
  const keys = [
    ...wanted.existing,
    ...wanted.fresh.map(({ label, key, tags }) => storeKey(core, { ...home, label, key, tags })),
  ];
  const device = createDevice(core.state, core.ids, core.now(), {
    ...order,
    ...editedBy(body),
    hostname: body.hostname ?? `device-${core.ids.hex(8)}`,
    projectId: project.id,
    plan: body.plan,
    operatingSystem: body.operating_system,
    facility,
    reservationId: reservation?.id ?? null,
    sshKeyIds: keys.map((key) => key.id),
    authorizedKeys: keys.map((key) => key.key.trim()),
  });
  core.state.devices.set(device.id, device);
  if (reservation) attach(core, reservation, device);
  api.lifecycle.startProvisioning(device);
  return device;
}

/** A plan may be named by its id too. */
function withPlanSlug({ state }: Core, body: CreateBody): CreateBody {
  const byId = state.catalogue.plans.find(({ id }) => id === body.plan);
  return byId ? { ...body, plan: byId.slug } : body;
}

/** The given fields that an update takes too, under the names of the state. */
export function editedBy(
  body: Partial<Record<keyof typeof editableFields | 'firmware_set_id', unknown>>,
) {
  const fields = {
    hostname: body.hostname,
    description: body.description,
    tags: body.tags,
    userdata: body.userdata,
    customdata: body.customdata,
    locked: body.locked,
    alwaysPxe: body.always_pxe,
    ipxeScriptUrl: body.ipxe_script_url,
    billingCycle: body.billing_cycle,
    networkFrozen: body.network_frozen,
    spotInstance: body.spot_instance,
    firmwareSetId: body.firmware_set_id,
  };
  const given = Object.entries(fields).filter(([, value]) => value !== undefined);
  return structuredClone(Object.fromEntries(given)) as Partial<Device>;
}

/** What is wrong with a hostname, as messages that name the field. */
export const hostnameProblems = (hostname: string | undefined): string[] =>
  hostname === undefined || /^[A-Za-z0-9.-]+$/.test(hostname)
    ? []
    : ['hostname: only letters, digits, "." and "-" are allowed'];

function catalogueProblems(core: Core, body: CreateBody): string[] {
  const reserved = body.hardware_reservation_id !== undefined;
  const located = body.metro !== undefined || facilityCodes(body).length > 0;
  const { operatingSystems } = core.state.catalogue;
  return [
    ...unknownIn(core, body),
    ...(operatingSystems.some(({ slug }) => slug === body.operating_system)
      ? []
      : [`operating_system: "${body.operating_system}" is not a valid operating system`]),
    ...(located || (reserved && !core.knobs.strictLocation)
      ? []
      : ['metro: one of metro and facility must be given']),
  ];
}

/** The first facility that fits and has one on demand. */
function facilityOf(core: Core, body: CreateBody): string {
  const fitting = facilitiesAt(core, body);
  if (fitting.length === 0) {
    throw invalid('facility: no facility fits the metro and facility given');
  }
  const found = fitting.find((code) => leftOnDemand(core, code, body.plan) > 0);
  if (found !== undefined) return found;
  throw new ApiError(503, [`There is no available capacity for plan ${body.plan} there`]);
}

function reservationOf(core: Core, project: Project, body: CreateBody): Reservation | undefined {
  const wanted = body.hardware_reservation_id;
  if (wanted === undefined) return undefined;
  if (wanted === 'next-available') return nextAvailable(core, project, body);
  const reservation = core.state.reservations.get(wanted);
  if (reservation?.projectId !== project.id) {
    throw invalid(`hardware_reservation_id: "${wanted}" is not a reservation of this project`);
  }
  if (!isProvisionable(reservation)) {
    throw invalid('hardware_reservation_id: Server is not provisionable');
  }
  if (reservation.plan !== body.plan) {
    throw invalid(`plan: "${body.plan}" is not the plan of the hardware reservation`);
  }
  if (!isAt(core, body, reservation.facility)) {
    throw invalid('metro: is not where the hardware reservation stands');
  }
  return reservation;
}

/** The lowest id that fits plan and location. */
function nextAvailable(core: Core, project: Project, body: CreateBody): Reservation {
  const fits = (one: Reservation) =>
    one.projectId === project.id &&
    one.plan === body.plan &&
    isProvisionable(one) &&
    isAt(core, body, one.facility);
  let lowest: Reservation | undefined;
  for (const one of core.state.reservations.values()) {
    if ((lowest === undefined || one.id < lowest.id) && fits(one)) lowest = one;
  }
  if (lowest) return lowest;
  throw new ApiError(503, [
    `There are no available hardware reservations for plan ${body.plan} in this project`,
  ]);
}
