import type { Witness } from '../../../domain/ids.ts';
import type { Call } from './call.ts';
import type { EquinixConfig, EquinixTimings } from './config.ts';
import { asAmbiguous, type EquinixError, isEquinixError } from './errors.ts';
import type { Routes } from './routes.ts';
import { type Device, idOf, isExpanded, type Reservation } from './schema.ts';
import { ownershipOf, ownerTag, witnessTag } from './tags.ts';

export interface DeviceOrder {
  readonly reservationId: string;
  readonly hostname: string;
  readonly witness: Witness;
  readonly sshKeyId: string;
  /** An earlier process may have sent a request for this witness: look before sending. */
  readonly resumed?: boolean;
  /** Awaited before each request; what it throws ends the creation. */
  readonly onAttempt?: (progress: { attempts: number; ambiguous: boolean }) => Promise<void>;
}

/** What a creation works with. */
export interface Scene {
  readonly routes: Routes;
  readonly call: Call;
  readonly config: Pick<EquinixConfig, 'projectId' | 'instanceSetId' | 'os'>;
  readonly timings: EquinixTimings;
}

/** `ambiguous`: a request may have had its effect without our knowing. */
interface Progress {
  attempts: number;
  ambiguous: boolean;
}

/**
 * Creates the device of an order at most once. The witness among its tags tells our device from a
 * stranger's, so that a lost reply is settled by looking and never by a blind repetition.
 * @throws {EquinixError} RaceLost, Rejected, Capacity: nothing of ours exists. `ambiguous`, above
 * all OutcomeUnknown: something may exist, look again by the witness later.
 */
export async function createDevice(scene: Scene, order: DeviceOrder): Promise<Device> {
  if (order.reservationId === '') {
    throw scene.call.error('NoReservationProvided', 'no reservation is given');
  }
  const progress: Progress = { attempts: 0, ambiguous: order.resumed ?? false };
  try {
    return await settle(scene, order, progress);
  } catch (error) {
    const unsettled = progress.ambiguous && isEquinixError(error) && error.kind !== 'RaceLost';
    throw unsettled ? asAmbiguous(error) : error;
  }
}

async function settle(scene: Scene, order: DeviceOrder, progress: Progress): Promise<Device> {
  const resumed = progress.ambiguous ? await lookTwice(scene, order) : null;
  if (resumed) return resumed;
  const { ours, reservation } = await preCheck(scene, order);
  if (ours) return ours;
  for (let lostAtMs = scene.call.now(); ;) {
    const answer = await post(scene, order, { reservation, progress });
    if (answer.type === 'created') return checkCreated(scene, order, answer.device);
    if (answer.type === 'refused') {
      return progress.ambiguous
        ? await outlastRefusal(scene, order, { ...answer, lostAtMs })
        : await explainRefusal(scene, order, answer.error);
    }
    lostAtMs = scene.call.now();
    progress.ambiguous = true;
    const found = await lookTwice(scene, order);
    if (found) return found;
  }
}

async function preCheck(scene: Scene, order: DeviceOrder) {
  const { routes, call, config } = scene;
  const reservation = await routes.getReservation(call, order.reservationId);
  const holder = await deviceOn(scene, reservation);
  if (holder && isOurs(scene, order, holder)) {
    return { ours: await routes.getDevice(call, holder.id), reservation };
  }
  if (holder) throw call.error('RaceLost', 'the reservation holds another device');
  const projectId = idOf(reservation.project);
  if (projectId !== null && projectId !== config.projectId) {
    throw call.error('RaceLost', 'the reservation moved to another project');
  }
  if (!reservation.provisionable || reservation.spare || reservation.need_of_service) {
    throw call.error('Rejected', 'the reservation is not provisionable');
  }
  return { ours: null, reservation };
}

type Answer =
  | { readonly type: 'created'; readonly device: Device }
  | { readonly type: 'refused'; readonly error: EquinixError }
  | { readonly type: 'lost' };

async function post(
  scene: Scene,
  order: DeviceOrder,
  { reservation, progress }: { reservation: Reservation; progress: Progress },
): Promise<Answer> {
  const { routes, call } = scene;
  const beforeAttempt = async () => {
    progress.attempts++;
    await order.onAttempt?.({ ...progress });
  };
  try {
    const body = bodyFor(scene, order, reservation);
    return { type: 'created', device: await routes.createDevice(call, body, beforeAttempt) };
  } catch (error) {
    if (!isEquinixError(error) || error.kind === 'Cancelled') throw error;
    if (error.ambiguous) return { type: 'lost' };
    if (isEquinixError(error, 'Forbidden', 'NotFound', 'Rejected', 'Capacity')) {
      return { type: 'refused', error };
    }
    throw error;
  }
}

function bodyFor({ call, config }: Scene, order: DeviceOrder, reservation: Reservation) {
  const plan = reservation.plan?.slug;
  if (plan === undefined) throw call.error('Rejected', 'the reservation names no plan');
  const metro = reservation.facility?.metro?.code;
  return {
    hostname: order.hostname,
    plan,
    operating_system: config.os,
    hardware_reservation_id: order.reservationId,
    project_id: config.projectId,
    project_ssh_keys: [order.sshKeyId],
    tags: [witnessTag(order.witness), ownerTag(config.instanceSetId)],
    ...(metro === undefined ? {} : { metro }),
  };
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

/** A first refusal is believed; someone faster is the likely reason of two of them. */
async function explainRefusal(scene: Scene, order: DeviceOrder, error: EquinixError) {
  if (error.status !== 409 && error.status !== 422) throw error;
  const found = await look(scene, order);
  if (found) return found;
  throw error;
}

/** A refused repetition may only mean that the lost request did work and is not visible yet. */
async function outlastRefusal(
  scene: Scene,
  order: DeviceOrder,
  { error, lostAtMs }: { error: EquinixError; lostAtMs: number },
): Promise<Device> {
  const { call, timings } = scene;
  for (;;) {
    const found = await look(scene, order);
    if (found) return found;
    if (call.now() - lostAtMs >= timings.settleMs) {
      const details = { ambiguous: true, cause: error };
      throw call.error('OutcomeUnknown', 'refused after a lost reply, device not found', details);
    }
    await call.wait(timings.probeGapMs);
  }
}

async function lookTwice(scene: Scene, order: DeviceOrder): Promise<Device | null> {
  const { call, timings } = scene;
  await call.wait(timings.probeDelayMs);
  const found = await look(scene, order);
  if (found) return found;
  await call.wait(timings.probeGapMs);
  return look(scene, order);
}

/** @throws {EquinixError} RaceLost: a stranger's device is there and none of ours. */
async function look(scene: Scene, order: DeviceOrder): Promise<Device | null> {
  const { ours, holder, foreign } = await findByWitness(scene, order);
  if (ours) return ours;
  if (foreign) throw scene.call.error('RaceLost', 'another owner tagged the device');
  if (holder) throw scene.call.error('RaceLost', 'the reservation holds another device');
  return null;
}

/**
 * Looks on the reservation and among the project's tags, past any cache. `foreign` carries the
 * witness and another owner's tag; then there is no `ours`.
 */
export async function findByWitness(
  scene: Pick<Scene, 'routes' | 'call'> & { readonly config: Owner },
  order: Pick<DeviceOrder, 'witness' | 'reservationId'>,
): Promise<{ ours: Device | null; holder: Device | null; foreign: Device | null }> {
  const { routes, call } = scene;
  const reservation = await routes.getReservation(call, order.reservationId);
  const holder = await deviceOn(scene, reservation);
  const found =
    holder && carriesWitness(order, holder)
      ? [await routes.getDevice(call, holder.id)]
      : await routes.listDevicesByTag(call, witnessTag(order.witness));
  const ours = found.find((device) => isOurs(scene, order, device)) ?? null;
  return { ours, holder, foreign: ours ? null : (found[0] ?? null) };
}

type Owner = Pick<EquinixConfig, 'instanceSetId'>;

const carriesWitness = ({ witness }: Pick<DeviceOrder, 'witness'>, { tags }: Device): boolean =>
  tags.includes(witnessTag(witness));

/** The witness proves that we made it, even if our owner tag was taken away; not if replaced. */
const isOurs = (
  { config }: { readonly config: Owner },
  order: Pick<DeviceOrder, 'witness'>,
  device: Device,
): boolean =>
  carriesWitness(order, device) && ownershipOf(device.tags, config.instanceSetId) !== 'foreign';

/** The device on a reservation, fetched when only its address came. */
async function deviceOn(
  { routes, call }: Pick<Scene, 'routes' | 'call'>,
  reservation: Reservation,
): Promise<Device | null> {
  const { device } = reservation;
  if (device === undefined || isExpanded(device)) return device ?? null;
  const id = idOf(device);
  return id === null ? null : routes.getDevice(call, id);
}
