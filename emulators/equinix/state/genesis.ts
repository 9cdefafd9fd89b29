import type { Generator } from '../../kit/random.ts';
import type { Device, Project, Reservation, State, Token } from './state.ts';
import { additionsOf, DEFAULT_ORGANIZATIONS, DEFAULT_PROJECTS, type World } from '../world.ts';
import {
  DEFAULT_FACILITIES,
  DEFAULT_OPERATING_SYSTEM,
  DEFAULT_PLAN,
  extendCatalogue,
} from './catalogue.ts';
import { PLAIN_ORDER } from './device-order.ts';
import { newPassword, newToken } from './secrets.ts';

const DAY_MS = 86_400_000;
type ListedReservation = Extract<World['reservations'], readonly unknown[]>[number];
type ListedDevice = NonNullable<World['devices']>[number];

/**
 * The first state of a world. What the description leaves out gets a default: one organisation,
 * one project, a token of each scope, `reservations` free reservations.
 */
export function createState(
  world: World,
  reservations: number,
  ids: Generator,
  nowMs: number,
): State {
  const state = emptyState(world, ids, nowMs);
  for (const listed of listedReservations(world, reservations)) {
    addReservation(state, ids, listed, nowMs - 30 * DAY_MS);
  }
  for (const listed of world.devices ?? []) addDevice(state, ids, listed, nowMs);
  for (const listed of world.keys ?? []) {
    const key = addKey(state, ids, listed, nowMs);
    state.sshKeys.set(key.id, key);
  }
  return state;
}

function emptyState(world: World, ids: Generator, nowMs: number): State {
  const organizations = (world.organizations ?? DEFAULT_ORGANIZATIONS).map((listed) => ({
    id: listed.id ?? ids.uuid(),
    name: listed.name,
    userId: ids.uuid(),
  }));
  const state: State = {
    nowMs,
    idPosition: 0,
    chancePosition: 0,
    lastTimerId: 0,
    sequence: 0,
    addressCount: 0,
    adminToken: newToken('admin'),
    tokensAreRandom: true,
    catalogue: extendCatalogue(additionsOf(world)),
    organizations,
    projects: new Map(),
    tokens: [],
    reservations: new Map(),
    devices: new Map(),
    sshKeys: new Map(),
    timers: new Map(),
    knobs: { ...world.knobs },
    timings: { ...world.timings },
    faults: [],
    faultCount: 0,
    requestCount: 0,
  };
  for (const listed of world.projects ?? DEFAULT_PROJECTS) {
    const project = createProject(ids, listed, organizationOf(state, listed.organization), nowMs);
    state.projects.set(project.id, project);
  }
  state.tokens = tokensOf(world, state);
  return state;
}

/** A project without anything in it. */
export const createProject = (
  ids: Generator,
  listed: { id?: string | undefined; name: string },
  organizationId: string,
  nowMs: number,
): Project => ({
  id: listed.id ?? ids.uuid(),
  name: listed.name,
  organizationId,
  createdAtMs: nowMs,
  updatedAtMs: nowMs,
  events: [],
});

const organizationOf = (state: State, wanted: string | undefined) =>
  state.organizations.find((one) => one.id === wanted || one.name === wanted)?.id ??
  state.organizations[0]!.id;

/** The project of that id or name; the first one when nothing is named. */
const projectOf = (state: State, wanted: string | undefined): Project => {
  const all = [...state.projects.values()];
  return all.find((one) => one.id === wanted || one.name === wanted) ?? all[0]!;
};

function tokensOf(world: World, state: State): Token[] {
  const listed = (world.tokens ?? []).map((item) => {
    const project = item.project ?? (item.scope === 'project' ? '' : undefined);
    const home = project === undefined ? undefined : projectOf(state, project);
    return {
      value: item.token,
      organizationId: home?.organizationId ?? organizationOf(state, item.organization),
      projectId: home?.id ?? null,
      readOnly: item.scope === 'readOnly',
      revoked: false,
    };
  });
  const { id: projectId, organizationId } = projectOf(state, undefined);
  const missing = [
    { prefix: 'user', projectId: null, readOnly: false },
    { prefix: 'project', projectId, readOnly: false },
    { prefix: 'readonly', projectId: null, readOnly: true },
  ].map(({ prefix, ...rest }) => ({
    ...rest,
    value: newToken(prefix),
    organizationId,
    revoked: false,
  }));
  const has = (one: Token) =>
    listed.some(
      (other) =>
        other.organizationId === one.organizationId &&
        other.readOnly === one.readOnly &&
        (one.readOnly || other.projectId === one.projectId),
    );
  return [...listed, ...missing.filter((one) => !has(one))];
}

function listedReservations(world: World, reservations: number): ListedReservation[] {
  const wanted = world.reservations ?? reservations;
  const list = typeof wanted === 'number' ? [{ count: wanted }] : wanted;
  return list.flatMap(({ count = 1, ...rest }) => Array.from({ length: count }, () => rest));
}

/** Adds one reservation, free unless said otherwise; `createdAtMs` when the listing has none. */
export function addReservation(
  state: State,
  ids: Generator,
  listed: ListedReservation,
  createdAtMs: number,
): Reservation {
  const sequence = ++state.sequence;
  const reservation: Reservation = {
    id: listed.id ?? ids.uuid(),
    projectId: projectOf(state, listed.project).id,
    plan: listed.plan ?? DEFAULT_PLAN,
    facility:
      listed.facility ?? DEFAULT_FACILITIES[state.reservations.size % DEFAULT_FACILITIES.length]!,
    createdAtMs: listed.createdAt ?? createdAtMs + sequence * 1_000,
    switchUuid: ids.hex(6),
    sequence,
    deviceId: null,
    past: [],
    cleaning: false,
    provisionable: listed.provisionable ?? true,
    spare: listed.spare ?? false,
    needOfService: listed.needOfService ?? false,
    terminationTimeMs: listed.terminationTime ?? null,
  };
  state.reservations.set(reservation.id, reservation);
  return reservation;
}

/** What every new device starts from; the caller overrides what it knows. */
export function createDevice(
  state: State,
  ids: Generator,
  nowMs: number,
  known: Pick<Device, 'projectId' | 'hostname' | 'plan' | 'facility' | 'operatingSystem'> &
    Partial<Device>,
): Device {
  return {
    id: ids.uuid(),
    reservationId: null,
    createdAtMs: nowMs,
    updatedAtMs: nowMs,
    sequence: ++state.sequence,
    rootPassword: newPassword(),
    sshKeyIds: [],
    authorizedKeys: [],
    description: null,
    state: 'queued',
    past: [],
    tags: [],
    userdata: null,
    customdata: {},
    locked: false,
    alwaysPxe: false,
    ipxeScriptUrl: null,
    ...PLAIN_ORDER,
    addresses: [],
    steps: [],
    events: [],
    doom: null,
    machine: { paper: false, up: false, sshPort: null, wipePending: false, gone: false },
    ...known,
  };
}

function addDevice(state: State, ids: Generator, listed: ListedDevice, nowMs: number): void {
  const reservation = state.reservations.get(listed.reservation ?? '');
  const device = createDevice(state, ids, nowMs, {
    ...(listed.id === undefined ? {} : { id: listed.id }),
    projectId: reservation?.projectId ?? projectOf(state, listed.project).id,
    hostname: listed.hostname,
    reservationId: reservation?.id ?? null,
    plan: listed.plan ?? reservation?.plan ?? DEFAULT_PLAN,
    facility: listed.facility ?? reservation?.facility ?? DEFAULT_FACILITIES[0],
    operatingSystem: listed.operatingSystem ?? DEFAULT_OPERATING_SYSTEM,
    state: listed.state ?? 'active',
    ...(listed.createdAt === undefined
      ? {}
      : { createdAtMs: listed.createdAt, updatedAtMs: listed.createdAt }),
    tags: listed.tags ?? [],
    locked: listed.locked ?? false,
  });
  device.machine.up = device.state === 'active';
  state.devices.set(device.id, device);
  if (reservation) reservation.deviceId = device.id;
}

const addKey = (
  state: State,
  ids: Generator,
  listed: NonNullable<World['keys']>[number],
  nowMs: number,
) => ({
  id: listed.id ?? ids.uuid(),
  label: listed.label,
  key: listed.key.trim(),
  projectId: projectOf(state, listed.project).id,
  organizationId: projectOf(state, listed.project).organizationId,
  createdAtMs: nowMs,
  updatedAtMs: nowMs,
  sequence: ++state.sequence,
});
