import { isProviderError, ProviderError } from '../../../domain/errors.ts';
import type { Clock } from '../../clock/port.ts';
import type { CallOptions } from '../port.ts';
import type { EquinixClient } from './client/client.ts';
import { isApiError, isNotFound } from '../../http/errors.ts';
import { type Device, idOf, isExpanded, type Reservation } from './client/schema.ts';
import type { DeviceView } from './device-view.ts';
import { classify, isGoing } from './mapping.ts';
import { deletedName, isLeaving } from './ownership.ts';
import type { EquinixConfig } from './settings.ts';

/** How devices go, and what becomes of their reservations. */
export interface GiveBack {
  /**
   * Renames the device and has it deleted; continues what was begun earlier.
   * @throws {ProviderError} `not-found`: it is gone. `conflict`: it is not ours, or locked.
   *   `transient`: not yet, it is being installed.
   */
  deprovision(id: string, how: CallOptions): Promise<void>;
  stateOf(reservationId: string, signal: AbortSignal): Promise<ReservationState>;
}

/**
 * `free`: it can be used. `busy`: its device is going, or it is being cleaned. `taken`: out of our
 * hands, since somebody else's device is on it or it is no longer the project's.
 */
export type ReservationState = 'free' | 'busy' | 'taken';

/** The API deletes nothing while it installs. */
const NOT_YET: ReadonlySet<string> = new Set(['queued', 'provisioning']);

export function createGiveBack(
  config: Pick<EquinixConfig, 'projectId' | 'devicePrefix'>,
  deps: {
    readonly client: EquinixClient;
    readonly view: Pick<DeviceView, 'get' | 'getOurs' | 'confirmGone'>;
    readonly clock: Pick<Clock, 'now'>;
  },
): GiveBack {
  const { client, view, clock } = deps;

  async function renameAndDelete(device: Device, how: CallOptions): Promise<void> {
    const { signal, beforeSending } = how;
    const { id, hostname = '', state: before = '' } = device;
    if (device.locked) throw new ProviderError('conflict', `device ${id} is locked`);
    const renamed = deletedName(hostname);
    if (hostname !== renamed) {
      await client.updateDevice(id, { hostname: renamed }, signal, { beforeSending });
    }
    try {
      const answer = await client.deleteDevice(id, signal, { beforeSending });
      if (answer === 'unknown device') await view.confirmGone(id, signal);
    } catch (error) {
      if (!isApiError(error, 'Rejected')) throw error;
      const { state = '' } = await view.get(id, signal);
      if (isGoing({ state })) return;
      // Its installation may have ended between the refusal and this look.
      const installing = [state, before].find((each) => NOT_YET.has(each));
      if (installing === undefined) throw error;
      throw new ProviderError('transient', `device ${id} cannot be deleted while ${installing}`, {
        cause: error,
      });
    }
  }

  const isLeft = (device: Device): boolean => isGoing(device) || isLeaving(device, config);

  /** A reservation may show a device that has left it, so that device is asked for by itself. */
  async function isHeld({ device }: Reservation, signal: AbortSignal): Promise<boolean> {
    const id = device && idOf(device);
    if (!device || !id) return false;
    if (isExpanded(device) && isLeft(device)) return false;
    const now = await unlessHidden(view.get(id, signal));
    return now !== null && !isLeft(now);
  }

  async function remove(device: Device, how: CallOptions): Promise<void> {
    if (isGoing(device)) return;
    try {
      await renameAndDelete(device, how);
    } catch (error) {
      if (!isGone(error)) throw error;
      await view.confirmGone(device.id, how.signal);
    }
  }

  return {
    async deprovision(id, how) {
      await remove(await view.getOurs(id, how), how);
    },
    async stateOf(reservationId, signal) {
      const reservation = await unlessGone(client.getReservation(reservationId, signal));
      if (!reservation) return 'taken';
      const projectId = idOf(reservation.project);
      if (projectId !== null && projectId !== config.projectId) return 'taken';
      if (classify(reservation, clock.now()) === 'available') return 'free';
      return (await isHeld(reservation, signal)) ? 'taken' : 'busy';
    },
  };
}

/** Null in place of what does not exist. */
const unlessGone = <T>(request: Promise<T>): Promise<T | null> =>
  request.catch((error: unknown) => {
    if (isGone(error)) return null;
    throw error;
  });

const isGone = (error: unknown): boolean =>
  isNotFound(error) || isProviderError(error, 'not-found');

/** Null in place of what does not exist or is not shown to us. */
const unlessHidden = <T>(request: Promise<T>): Promise<T | null> =>
  unlessGone(request).catch((error: unknown) => {
    if (error instanceof Error && isApiError(error.cause, 'Forbidden')) return null;
    throw error;
  });
