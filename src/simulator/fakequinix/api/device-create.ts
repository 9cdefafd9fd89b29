import { z } from 'zod';
import type { Api } from './api.ts';
import { readBody, type Call } from './call.ts';
import type { Core } from '../core.ts';
import type { Device, Project, Reservation, SshKey } from '../state/state.ts';
import { projectFor } from './access.ts';
import { ApiError, invalid } from './api-error.ts';
import { createDevice } from '../state/genesis.ts';
import { attach } from '../lifecycle/device-record.ts';
import { isProvisionable } from '../state/state.ts';

const strings = z.array(z.string());

/** Fields that both create and update take. */
export const editableFields = {
  hostname: z.string().min(1),
  description: z.string(),
  tags: strings,
  userdata: z.string(),
  customdata: z.record(z.string(), z.unknown()),
  locked: z.boolean(),
  always_pxe: z.boolean(),
  ipxe_script_url: z.string(),
};

const createBody = z.looseObject({
  ...z.object(editableFields).partial().shape,
  plan: z.string(),
  operating_system: z.string(),
  metro: z.string().optional(),
  facility: z
    .union([z.string(), strings], { error: 'expected a code or a list of codes' })
    .optional(),
  hardware_reservation_id: z.string().optional(),
  project_ssh_keys: strings.optional(),
  user_ssh_keys: strings.optional(),
  no_ssh_keys: z.boolean().optional(),
});
type CreateBody = z.output<typeof createBody>;

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
  const keys = keysFor(core, project, body);
  const reservation = reservationOf(core, project, body);
  const device = createDevice(core.state, core.ids, core.now(), {
    ...editedBy(body),
    hostname: body.hostname ?? `device-${core.ids.hex(8)}`,
    projectId: project.id,
    plan: body.plan,
    operatingSystem: body.operating_system,
    facility: reservation?.facility ?? facilityOf(core, body),
    reservationId: reservation?.id ?? null,
    sshKeyIds: keys.map((key) => key.id),
    authorizedKeys: keys.map((key) => key.key),
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

/** The given fields of {@link editableFields} under the names of the state. */
export function editedBy(body: Partial<Record<keyof typeof editableFields, unknown>>) {
  const fields = {
    hostname: body.hostname,
    description: body.description,
    tags: body.tags,
    userdata: body.userdata,
    customdata: body.customdata,
    locked: body.locked,
    alwaysPxe: body.always_pxe,
    ipxeScriptUrl: body.ipxe_script_url,
  };
  const given = Object.entries(fields).filter(([, value]) => value !== undefined);
  return structuredClone(Object.fromEntries(given)) as Partial<Device>;
}

/** What is wrong with a hostname, as messages that name the field. */
export const hostnameProblems = (hostname: string | undefined): string[] =>
  hostname === undefined || /^[A-Za-z0-9.-]+$/.test(hostname)
    ? []
    : ['hostname: only letters, digits, "." and "-" are allowed'];

function catalogueProblems({ state, knobs }: Core, body: CreateBody): string[] {
  const { plans, operatingSystems, metros, facilities } = state.catalogue;
  const reserved = body.hardware_reservation_id !== undefined;
  const located = body.metro !== undefined || facilityCodes(body).length > 0;
  const unknownFacilities = facilityCodes(body).filter(
    (code) => code !== 'any' && !facilities.some((one) => one.code === code || one.id === code),
  );
  return [
    ...(plans.some(({ slug }) => slug === body.plan)
      ? []
      : [`plan: "${body.plan}" is not a valid plan`]),
    ...(operatingSystems.some(({ slug }) => slug === body.operating_system)
      ? []
      : [`operating_system: "${body.operating_system}" is not a valid operating system`]),
    ...(body.metro === undefined || metros.some((one) => isMetro(one, body.metro!))
      ? []
      : [`metro: "${body.metro}" is not a valid metro`]),
    ...unknownFacilities.map((code) => `facility: "${code}" is not a valid facility`),
    ...(located || (reserved && !knobs.strictLocation)
      ? []
      : ['metro: one of metro and facility must be given']),
  ];
}

const isMetro = (metro: { id: string; code: string }, wanted: string) =>
  metro.code === wanted.toLowerCase() || metro.id === wanted;
const facilityCodes = ({ facility }: CreateBody): string[] =>
  typeof facility === 'string' ? [facility] : (facility ?? []);

/** Whether a facility is where the body wants the device; anywhere when it does not say. */
function fitsLocation(core: Core, body: CreateBody, code: string): boolean {
  const facility = core.state.catalogue.facilities.find((one) => one.code === code)!;
  const metro = core.state.catalogue.metros.find((one) => one.code === facility.metro)!;
  const codes = facilityCodes(body);
  const anyFacility = codes.length === 0 || codes.includes('any');
  return (
    (body.metro === undefined || isMetro(metro, body.metro)) &&
    (anyFacility || codes.includes(facility.code) || codes.includes(facility.id))
  );
}

function facilityOf(core: Core, body: CreateBody): string {
  const fits = core.state.catalogue.facilities.find((one) => fitsLocation(core, body, one.code));
  if (!fits) throw invalid('facility: no facility fits the metro and facility given');
  return fits.code;
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
  if (!fitsLocation(core, body, reservation.facility)) {
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
    fitsLocation(core, body, one.facility);
  let lowest: Reservation | undefined;
  for (const one of core.state.reservations.values()) {
    if ((lowest === undefined || one.id < lowest.id) && fits(one)) lowest = one;
  }
  if (lowest) return lowest;
  throw new ApiError(503, [
    `There are no available hardware reservations for plan ${body.plan} in this project`,
  ]);
}

/** Named keys only, or without any list all of the project and of its organisation's user. */
function keysFor(core: Core, project: Project, body: CreateBody): SshKey[] {
  const mine = [...core.state.sshKeys.values()].filter((key) =>
    key.projectId === null
      ? key.organizationId === project.organizationId
      : key.projectId === project.id,
  );
  if (body.project_ssh_keys === undefined && body.user_ssh_keys === undefined) {
    return body.no_ssh_keys ? [] : mine;
  }
  const pick = (field: string, ids: readonly string[] = [], ofProject: boolean) =>
    ids.map((id) => {
      const key = mine.find((one) => one.id === id && (one.projectId !== null) === ofProject);
      if (!key) throw invalid(`${field}: no such key "${id}"`);
      return key;
    });
  const ofUser = core.state.organizations.find((one) => one.id === project.organizationId)!.userId;
  const users = body.user_ssh_keys?.includes(ofUser)
    ? mine.filter((key) => key.projectId === null)
    : [];
  return [...pick('project_ssh_keys', body.project_ssh_keys, true), ...users];
}
