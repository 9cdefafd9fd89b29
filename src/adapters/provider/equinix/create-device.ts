import { isUuid, type Witness } from '../../../domain/ids.ts';
import type { Call } from '../../driver-kit/call.ts';
import { isApiError, asAmbiguous, type ApiError } from '../../driver-kit/errors.ts';
import { givenOf, idOf, isExpanded, type Reservation, type Device } from './api.ts';
import { ownerTag, witnessTag, ownershipOf } from './device-view.ts';
import type { CreateDeviceBody, Routes } from './routes.ts';
import type { EquinixConfig, EquinixTimings } from './settings.ts';

export interface DeviceOrder {
  /** An id: the server is never asked to pick one, since a repetition could take a second. */
  readonly reservationId: string;
  readonly hostname: string;
  readonly witness: Witness;
  /** What else it is to carry, as this API spells tags. Never changed. */
  readonly tags?: readonly string[];
  /** Only this key reaches the machine; absent: all keys of project and account. */
  readonly sshKeyId?: string;
  /** Slug; the configured system when absent. */
  readonly operatingSystem?: string;
  /** Secret. */
  readonly userdata?: string;
  /** Secret. */
  readonly customdata?: Readonly<Record<string, unknown>>;
  readonly locked?: boolean;
  /** An earlier process may have sent a request for this witness: look before sending. */
  readonly resumed?: boolean;
  /** Awaited before each request; what it throws ends the creation. */
  readonly onAttempt?: (progress: Progress) => Promise<void>;
}

/** `attempts` counts requests that may create; `ambiguous`: one of them may have had its effect. */
export interface Progress {
  readonly attempts: number;
  readonly ambiguous: boolean;
}

/** What a creation works with. */
export interface Scene {
  readonly routes: Routes;
  readonly call: Call;
  readonly config: Pick<EquinixConfig, 'projectId' | 'instanceSetId' | 'os'>;
  readonly timings: EquinixTimings;
}

/** What the hardware is, as a request has to say it. */
export interface Target {
  readonly plan: string;
  readonly metro?: string;
}

/** Everything that shows without a request. @throws {ApiError} NoReservationProvided, InvalidArgument. */
export function checkOrder({ call, config }: Scene, order: DeviceOrder): void {
  const refuse = (message: string) => call.error('InvalidArgument', message);
  const { reservationId, hostname, witness, sshKeyId } = order;
  if (reservationId === '') throw call.error('NoReservationProvided', 'no reservation is given');
  if (!isUuid(reservationId)) throw refuse('the reservation id is no lower-case UUID');
  if (hostname === '') throw refuse('no hostname is given');
  const ids = { witness, 'SSH key id': sshKeyId, 'project id': config.projectId };
  for (const [name, id] of Object.entries(ids)) {
    if (id !== undefined && !isUuid(id)) throw refuse(`the ${name} is no lower-case UUID`);
  }
}

/** What a reservation offers. @throws {ApiError} Rejected: it names no plan. */
export function targetOf(call: Call, reservation: Reservation): Target {
  const plan = reservation.plan?.slug;
  if (plan === undefined) throw call.error('Rejected', 'the reservation names no plan');
  const metro = reservation.facility?.metro?.code;
  return { plan, ...(metro !== undefined && { metro }) };
}

export function bodyFor({ config }: Scene, order: DeviceOrder, target: Target): CreateDeviceBody {
  const { sshKeyId, userdata, customdata, locked } = order;
  return {
    hostname: order.hostname,
    plan: target.plan,
    operating_system: order.operatingSystem ?? config.os,
    hardware_reservation_id: order.reservationId,
    tags: tagsOf(config, order),
    ...(sshKeyId !== undefined && { project_ssh_keys: [sshKeyId] }),
    ...(target.metro !== undefined && { metro: target.metro }),
    ...(givenOf({ userdata, customdata, locked }) as Partial<CreateDeviceBody>),
  };
}

/** The caller's tags with one witness and one owner, whatever the caller's had of these. */
function tagsOf({ instanceSetId }: Scene['config'], { tags = [], witness }: DeviceOrder): string[] {
  const marks = [witnessTag(''), ownerTag('')];
  const others = tags.filter((tag) => !marks.some((mark) => tag.startsWith(mark)));
  return [...others, witnessTag(witness), ownerTag(instanceSetId)];
}

/** Where a creation looks for what it may have made. */
export type Place = Pick<Scene, 'routes' | 'call'> & {
  readonly config: Pick<EquinixConfig, 'instanceSetId'>;
};
export type Sought = Pick<DeviceOrder, 'witness'> & {
  /** Null: it is looked for among the tags alone. */
  readonly reservationId: string | null;
};

/** The device on a reservation; `hidden`: there is one, but it cannot be read. */
export type Holder = Device | 'hidden' | null;

export interface Sighting {
  readonly ours: Device | null;
  readonly holder: Holder;
  /** Carries the witness and another owner's tag; then there is no `ours`. */
  readonly foreign: Device | null;
  /** False: something may have been left out, so that finding nothing proves nothing. */
  readonly complete: boolean;
}

/** Looks on the reservation and among the project's tags, past any cache. */
export async function findByWitness(place: Place, sought: Sought): Promise<Sighting> {
  const { routes, call } = place;
  const holder =
    sought.reservationId === null
      ? null
      : await holderOf(place, await routes.getReservation(sought.reservationId, call));
  const { items, complete } =
    isDevice(holder) && carriesWitness(sought, holder)
      ? { items: [await routes.getDevice(holder.id, call)], complete: true }
      : await routes.listDevicesByTag(call, witnessTag(sought.witness));
  const ours = items.find((device) => isOurs(place, sought, device)) ?? null;
  return { ours, holder, foreign: ours ? null : (items[0] ?? null), complete };
}

/**
 * The device of the witness, if it is to be seen.
 * @throws {ApiError} RaceLost: a stranger's device is there and none of ours.
 */
async function look(place: Place, sought: Sought): Promise<Pick<Sighting, 'ours' | 'complete'>> {
  const { ours, holder, foreign, complete } = await findByWitness(place, sought);
  if (!ours && foreign) throw place.call.error('RaceLost', 'another owner tagged the device');
  if (!ours && isDevice(holder)) throw strangerThere(place);
  return { ours, complete };
}

/** How often and how long `lookUntil` looks, milliseconds. */
export interface Patience {
  readonly delayMs: number;
  readonly gapMs: number;
  /** Least time from the beginning to the end of the last look. */
  readonly untilMs: number;
  /** Looks that find nothing and left nothing out. */
  readonly looksMin: number;
}

/** Looks until the device shows or patience ends; then null. @throws {ApiError} RaceLost. */
export async function lookUntil(
  place: Place,
  sought: Sought,
  { delayMs, gapMs, untilMs, looksMin }: Patience,
): Promise<Device | null> {
  const { call } = place;
  const startedMs = call.now();
  await call.wait(delayMs);
  for (let empty = 0; ;) {
    const { ours, complete } = await look(place, sought);
    if (ours) return ours;
    if (complete) empty++;
    if (empty >= looksMin && call.now() - startedMs >= untilMs) return null;
    await call.wait(gapMs);
  }
}

/** The device on a reservation, fetched when only its address came, or no tags to know it by. */
export async function holderOf({ routes, call }: Place, { device }: Reservation): Promise<Holder> {
  if (device === undefined) return null;
  if (isExpanded(device) && device.tags.length > 0) return device;
  const id = idOf(device);
  if (id === null) return null;
  return routes.getDevice(id, call).catch((error: unknown) => {
    if (isApiError(error, 'NotFound', 'Forbidden')) return 'hidden';
    throw error;
  });
}

/** The witness proves that we made it, even if our owner tag was taken away; not if replaced. */
export const isOurs = ({ config }: Place, sought: Sought, device: Device): boolean =>
  carriesWitness(sought, device) && ownershipOf(device.tags, config.instanceSetId) !== 'foreign';

const carriesWitness = ({ witness }: Sought, { tags }: Device): boolean =>
  tags.includes(witnessTag(witness));

export const isDevice = (holder: Holder): holder is Device =>
  holder !== null && holder !== 'hidden';

export const strangerThere = ({ call }: Pick<Place, 'call'>) =>
  call.error('RaceLost', 'the reservation holds another device');

/** `adopted`: it was there already, made by a request whose reply was lost. */
export interface Creation {
  readonly device: Device;
  readonly outcome: 'created' | 'adopted';
}

type MutableProgress = { -readonly [K in keyof Progress]: Progress[K] };
type Step = Creation | { readonly target: Target };

/**
 * Creates the device of an order at most once. The witness among its tags tells our device from a
 * stranger's, so that a lost reply is settled by looking and never by a blind repetition.
 * @throws {ApiError} RaceLost, Rejected, Capacity: nothing of ours exists. `ambiguous`, above
 * all OutcomeUnknown: something may exist, look again by the witness later.
 */
export async function createDevice(scene: Scene, order: DeviceOrder): Promise<Creation> {
  checkOrder(scene, order);
  const progress: MutableProgress = { attempts: 0, ambiguous: order.resumed ?? false };
  try {
    return await settle(scene, order, progress);
  } catch (error) {
    const unsettled = progress.ambiguous && isApiError(error) && error.kind !== 'RaceLost';
    throw unsettled ? asAmbiguous(error) : error;
  }
}

async function settle(
  scene: Scene,
  order: DeviceOrder,
  progress: MutableProgress,
): Promise<Creation> {
  let lostAtMs = scene.call.now();
  const first = order.resumed
    ? await resume(scene, order, progress)
    : await preCheck(scene, order, progress);
  if ('device' in first) return first;
  for (;;) {
    const answer = await post(scene, order, { target: first.target, progress });
    if (answer.type === 'created') {
      return { device: checkCreated(scene, order, answer.device), outcome: 'created' };
    }
    if (answer.type === 'refused') {
      const refused = { error: answer.error, lostAtMs };
      return progress.ambiguous
        ? await outlastRefusal(scene, order, refused)
        : await explainRefusal(scene, order, { refusal: answer.error, progress });
    }
    lostAtMs = scene.call.now();
    progress.ambiguous = true;
    const found = await lookBeforeRepeating(scene, order);
    if (found) return adopted(found);
  }
}

const adopted = (device: Device): Creation => ({ device, outcome: 'adopted' });

/** It was seen to be ours: whatever fails from here on, it exists. */
async function adoptSeen(
  { routes, call }: Scene,
  { id }: Device,
  progress: MutableProgress,
): Promise<Creation> {
  progress.ambiguous = true;
  return adopted(await routes.getDevice(id, call));
}

/** What is on the reservation, and what it offers if that is nothing. */
async function preCheck(
  scene: Scene,
  order: DeviceOrder,
  progress: MutableProgress,
): Promise<Step> {
  const { routes, call, config } = scene;
  const reservation = await routes.getReservation(order.reservationId, call);
  const holder = await holderOf(scene, reservation);
  if (isDevice(holder) && isOurs(scene, order, holder)) {
    return adoptSeen(scene, holder, progress);
  }
  if (holder === 'hidden' && progress.ambiguous) {
    throw call.error('Rejected', 'the reservation holds a device that cannot be read');
  }
  if (holder) throw strangerThere(scene);
  const projectId = idOf(reservation.project);
  if (projectId !== null && projectId !== config.projectId) {
    throw call.error('RaceLost', 'the reservation moved to another project');
  }
  if (!reservation.provisionable || reservation.spare || reservation.need_of_service) {
    throw call.error('Rejected', 'the reservation is not provisionable');
  }
  return { target: targetOf(call, reservation) };
}

/** A reservation that is not free may only mean that the lost request worked. */
async function resume(scene: Scene, order: DeviceOrder, progress: MutableProgress): Promise<Step> {
  const lostAtMs = scene.call.now();
  const found = await lookBeforeRepeating(scene, order);
  if (found) return adopted(found);
  try {
    return await preCheck(scene, order, progress);
  } catch (error) {
    if (!isApiError(error, 'Rejected')) throw error;
    return outlastRefusal(scene, order, { error, lostAtMs });
  }
}

type Answer =
  | { readonly type: 'created'; readonly device: Device }
  | { readonly type: 'refused'; readonly error: ApiError }
  | { readonly type: 'lost' };

async function post(
  scene: Scene,
  order: DeviceOrder,
  { target, progress }: { readonly target: Target; readonly progress: MutableProgress },
): Promise<Answer> {
  const { routes, call } = scene;
  const beforeAttempt = async () => {
    progress.attempts++;
    if (progress.attempts > 1 && progress.ambiguous) call.repeats('CreateDevice');
    await order.onAttempt?.({ ...progress });
  };
  try {
    const body = bodyFor(scene, order, target);
    return { type: 'created', device: await routes.createDevice(call, body, beforeAttempt) };
  } catch (error) {
    if (!isApiError(error) || error.kind === 'Cancelled') throw error;
    if (error.ambiguous) return { type: 'lost' };
    if (isApiError(error, 'Forbidden', 'NotFound', 'Rejected', 'Capacity')) {
      return { type: 'refused', error };
    }
    throw error;
  }
}

function checkCreated(scene: Scene, order: DeviceOrder, device: Device): Device {
  const reservationId = idOf(device.hardware_reservation);
  const agrees =
    device.hostname === order.hostname &&
    isOurs(scene, order, device) &&
    (reservationId === null || reservationId === order.reservationId);
  if (agrees) return device;
  const details = { ambiguous: true };
  throw scene.call.error('OutcomeUnknown', 'the created device is not as ordered', details);
}

/** A first refusal is believed; one more read tells whether somebody was faster. */
async function explainRefusal(
  scene: Scene,
  order: DeviceOrder,
  { refusal, progress }: { readonly refusal: ApiError; readonly progress: MutableProgress },
): Promise<Creation> {
  const tells = refusal.status === 409 || refusal.status === 422;
  if (!tells) throw refusal;
  const holder = await readHolder(scene, order).catch((error: unknown) => {
    throw isApiError(error) && error.kind !== 'Cancelled' ? refusal : error;
  });
  if (!holder) throw refusal;
  if (!isDevice(holder) || !isOurs(scene, order, holder)) throw strangerThere(scene);
  return adoptSeen(scene, holder, progress);
}

const readHolder = async (scene: Scene, { reservationId }: DeviceOrder) =>
  holderOf(scene, await scene.routes.getReservation(reservationId, scene.call));

/** A refused repetition may only mean that the lost request did work and is not visible yet. */
async function outlastRefusal(
  scene: Scene,
  order: DeviceOrder,
  { error, lostAtMs }: { readonly error: ApiError; readonly lostAtMs: number },
): Promise<Creation> {
  const { call, timings } = scene;
  const found = await lookUntil(scene, order, {
    delayMs: 0,
    gapMs: timings.probeGapMs,
    untilMs: lostAtMs + timings.settleMs - call.now(),
    looksMin: 1,
  });
  if (found) return adopted(found);
  const details = { ambiguous: true, cause: error };
  throw call.error('OutcomeUnknown', 'refused after a lost reply, device not found', details);
}

/** Null after two looks that did not find the device: then the request may be sent once more. */
function lookBeforeRepeating(scene: Scene, order: DeviceOrder): Promise<Device | null> {
  const { probeDelayMs: delayMs, probeGapMs: gapMs } = scene.timings;
  return lookUntil(scene, order, { delayMs, gapMs, untilMs: 0, looksMin: 2 });
}
