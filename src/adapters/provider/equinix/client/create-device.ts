import {
  bodyFor,
  checkOrder,
  type DeviceOrder,
  type Progress,
  type Scene,
  type Target,
  targetOf,
} from './device-order.ts';
import { asAmbiguous, type ApiError, isApiError } from '../../../http/errors.ts';
import { holderOf, isDevice, isOurs, lookUntil, strangerThere } from './probe.ts';
import { type Device, idOf } from './schema.ts';

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

/** Null when the request may be sent once more: after two empty looks. */
function lookBeforeRepeating(scene: Scene, order: DeviceOrder): Promise<Device | null> {
  const { probeDelayMs: delayMs, probeGapMs: gapMs } = scene.timings;
  return lookUntil(scene, order, { delayMs, gapMs, untilMs: 0, looksMin: 2 });
}
