import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import type { Generator } from '../kit/random.ts';
import { plainFields } from './api/inputs.ts';
import {
  catalogueWith,
  DEFAULT_FACILITIES,
  DEFAULT_OPERATING_SYSTEM,
  DEFAULT_PLAN,
} from './state/catalogue.ts';
import { sshKeyProblem } from './state/ssh-key-text.ts';
import type { EquinixDevice, Project, State } from './state/state.ts';

const name = z.string().min(1);
const id = z.uuid().transform((value) => value.toLowerCase());
const time = z.iso.datetime({ offset: true }).transform((value) => Date.parse(value));
const listOf = <T extends z.ZodRawShape>(shape: T) => z.array(z.strictObject(shape)).optional();

const reservation = z.strictObject({
  id: id.optional(),
  /** Number of equal entries; not together with `id`. */
  count: z.int().min(0).max(100_000).optional(),
  /** Id or name. */
  project: name.optional(),
  plan: name.optional(),
  facility: name.optional(),
  provisionable: z.boolean().optional(),
  spare: z.boolean().optional(),
  needOfService: z.boolean().optional(),
});

const schema = z.strictObject({
  projects: listOf({ id: id.optional(), name }),
  plans: listOf({ slug: name, name: name.optional() }),
  operatingSystems: listOf({ slug: name, name: name.optional() }),
  metros: listOf({ code: name, name: name.optional() }),
  facilities: listOf({ code: name, metro: name, name: name.optional() }),
  /** A number means that many free reservations. */
  reservations: z
    .preprocess(
      (given) => (typeof given === 'number' ? [{ count: given }] : given),
      z.array(reservation),
    )
    .optional(),
  devices: listOf({
    id: id.optional(),
    hostname: name,
    project: name.optional(),
    /** Id of a reservation of this world. */
    reservation: id.optional(),
    plan: name.optional(),
    facility: name.optional(),
    state: z.enum(['active', 'inactive', 'failed']).optional(),
    createdAt: time.optional(),
    tags: z.array(z.string()).optional(),
    locked: z.boolean().optional(),
  }),
  keys: listOf({ id: id.optional(), label: name, key: z.string(), project: name.optional() }),
});

/** The initial world, checked by {@link parseWorld}. Everything is optional. */
export type WorldDescription = z.output<typeof schema>;
type Of<T extends keyof WorldDescription> = Extract<
  WorldDescription[T],
  readonly unknown[]
>[number];

/** An unusable world description, with all mistakes of its form or the first unknown name. */
export class WorldError extends Error {
  override readonly name = 'WorldError';
}

/** Checks the form of a world. @throws {WorldError} */
export function parseWorld(input: unknown, source = 'world'): WorldDescription {
  const parsed = schema.safeParse(input ?? {});
  if (parsed.success) return parsed.data;
  throw new WorldError(`${source}: ${z.prettifyError(parsed.error).replaceAll('\n', ' ')}`);
}

const DAY_MS = 86_400_000;

/**
 * The initial state of a world. By default it has one project, and `count` free reservations.
 * @throws {WorldError} a name is unknown.
 */
export function createState(
  world: WorldDescription,
  count: number,
  ids: Generator,
  nowMs: number,
): State {
  const organizationId = ids.uuid();
  const userId = ids.uuid();
  const projects = (world.projects ?? [{ name: 'fleet' }]).map((listed): [string, Project] => {
    const project = { id: listed.id ?? ids.uuid(), name: listed.name, createdAtMs: nowMs };
    return [project.id, project];
  });
  const state: State = {
    ...{ nowMs, idPosition: 0, chancePosition: 0, addressCount: 0 },
    ...{ organizationId, userId, catalogue: catalogueWith(world) },
    projects: new Map(projects),
    tokens: [
      { value: newToken('user'), projectId: null, revoked: false },
      { value: newToken('project'), projectId: projects[0]![0], revoked: false },
    ],
    ...{ reservations: new Map(), devices: new Map(), sshKeys: new Map(), timers: new Map() },
    ...{ faults: [], faultCount: 0, requestCount: 0 },
  };
  for (const listed of world.reservations ?? [{ count }]) {
    for (let n = 0; n < (listed.count ?? 1); n++) addReservation(state, listed, ids, nowMs);
  }
  for (const listed of world.devices ?? []) addDevice(state, listed, ids, nowMs);
  for (const listed of world.keys ?? []) addKey(state, listed, ids, nowMs);
  state.idPosition = ids.position();
  return state;
}

function addReservation(state: State, listed: Of<'reservations'>, ids: Generator, nowMs: number) {
  const { size } = state.reservations;
  const facility = listed.facility ?? DEFAULT_FACILITIES[size % DEFAULT_FACILITIES.length]!;
  const made = {
    id: listed.id ?? ids.uuid(),
    projectId: projectOf(state, listed.project),
    plan: slugIn(state.catalogue.plans, listed.plan ?? DEFAULT_PLAN),
    facility: codeIn(state.catalogue.facilities, facility),
    createdAtMs: nowMs - 30 * DAY_MS + size * 1_000,
    ...{ deviceId: null, past: [], cleaning: false },
    provisionable: listed.provisionable ?? true,
    spare: listed.spare ?? false,
    needOfService: listed.needOfService ?? false,
  };
  if (state.reservations.has(made.id)) throw new WorldError(`two reservations are ${made.id}`);
  state.reservations.set(made.id, made);
}

function addDevice(state: State, listed: Of<'devices'>, ids: Generator, nowMs: number): void {
  const under = state.reservations.get(listed.reservation ?? '');
  if (listed.reservation !== undefined && under?.deviceId !== null) {
    throw new WorldError(`${listed.reservation} is no reservation, or not a free one`);
  }
  const createdAtMs = listed.createdAt ?? nowMs;
  const device = createDevice(ids, createdAtMs, {
    ...(listed.id !== undefined && { id: listed.id }),
    projectId: under?.projectId ?? projectOf(state, listed.project),
    reservationId: under?.id ?? null,
    plan: slugIn(state.catalogue.plans, listed.plan ?? under?.plan ?? DEFAULT_PLAN),
    facility: listed.facility ?? under?.facility ?? DEFAULT_FACILITIES[0],
    operatingSystem: DEFAULT_OPERATING_SYSTEM,
    state: listed.state ?? 'active',
    fields: {
      ...plainFields(listed.hostname),
      tags: listed.tags ?? [],
      locked: listed.locked ?? false,
    },
  });
  device.machine.up = device.state === 'active';
  state.devices.set(device.id, device);
  if (under) under.deviceId = device.id;
}

function addKey(state: State, listed: Of<'keys'>, ids: Generator, nowMs: number): void {
  const problem = sshKeyProblem(listed.key);
  if (problem !== undefined) throw new WorldError(`the key ${listed.label} ${problem}`);
  const id = listed.id ?? ids.uuid();
  const projectId = projectOf(state, listed.project);
  const { label, key } = listed;
  const times = { createdAtMs: nowMs, updatedAtMs: nowMs };
  state.sshKeys.set(id, { id, label, key: key.trim(), tags: [], projectId, ...times });
}

/** Id of the project with this id or name; by default the first project's. */
function projectOf({ projects }: State, wanted: string | undefined): string {
  const all = [...projects.values()];
  const fits = (one: Project) => wanted === undefined || one.id === wanted || one.name === wanted;
  const found = all.find(fits);
  if (!found) throw new WorldError(`there is no project ${wanted}`);
  return found.id;
}

function slugIn(articles: readonly { readonly slug: string }[], slug: string): string {
  if (!articles.some((one) => one.slug === slug)) throw new WorldError(`there is no plan ${slug}`);
  return slug;
}
function codeIn(places: readonly { readonly code: string }[], code: string): string {
  if (!places.some((one) => one.code === code)) {
    throw new WorldError(`there is no facility ${code}`);
  }
  return code;
}

/** Defaults of a new device; the caller gives the rest and the exceptions. */
export const createDevice = (
  ids: Generator,
  nowMs: number,
  known: Pick<
    EquinixDevice,
    'projectId' | 'reservationId' | 'plan' | 'facility' | 'operatingSystem' | 'fields'
  > &
    Partial<EquinixDevice>,
): EquinixDevice => ({
  id: ids.uuid(),
  createdAtMs: nowMs,
  updatedAtMs: nowMs,
  rootPassword: randomBytes(5).toString('hex'),
  sshKeyIds: [],
  authorizedKeys: [],
  state: 'queued',
  addresses: [],
  installation: null,
  events: [],
  machine: { paper: false, up: false, sshPort: null, wipePending: false },
  ...known,
});

/**
 * A new token. It never comes from the seed, which others know. A token's holder can add keys, and
 * a key's holder can run programs on simulated machines, that is on this computer.
 */
const newToken = (kind: string): string => `${kind}-${randomBytes(32).toString('base64url')}`;
