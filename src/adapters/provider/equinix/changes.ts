import { ProviderError, explain, isProviderError } from '../../../domain/errors.ts';
import type { Tags } from '../../../domain/provisioning/provider-tags.ts';
import { withTimeLimit, type Clock } from '../../clock/port.ts';
import type { Call } from '../../driver-kit/call.ts';
import { isNotFound, isRefused, nullIfGone } from '../../driver-kit/errors.ts';
import type { Log } from '../../log/port.ts';
import type { CallOptions, ReinstallRequest } from '../port.ts';
import { idOf, isExpanded, type Device, type Reservation } from './api.ts';
import { isForbidden, type EquinixClient } from './client.ts';
import {
  withOurTags,
  classify,
  isGoing,
  deletedName,
  isLeaving,
  type DeviceView,
} from './device-view.ts';
import type { EquinixConfig } from './settings.ts';

/** Transient states, in which no action is taken. */
const PASSING: ReadonlySet<string> = new Set([
  'queued',
  'provisioning',
  'post_provisioning',
  'reinstalling',
  'powering_on',
  'powering_off',
]);

/** Time limit for restoring the old tags. */
const PUT_BACK_MS = 20_000;

/**
 * Changes to our devices that keep them. All reject with `conflict` for any other device, and with
 * `transient` for a device in a transient state.
 */
export function createChanges(deps: {
  readonly client: EquinixClient;
  readonly view: Pick<DeviceView, 'getOurs'>;
  readonly clock: Pick<Clock, 'setTimeout' | 'clearTimeout'>;
  readonly log: Log;
  /** An operation besides the requested ones. */
  readonly begin: (doing: string, signal: AbortSignal) => Call;
  /** Aborts when the driver stops. */
  readonly ended: AbortSignal;
}) {
  const { client, view, clock, log, begin, ended } = deps;

  /** Reads a device before an action; in a transient state, a refused action may succeed later. */
  function watched(call: Call, id: string, how: CallOptions) {
    let state = '';
    return {
      look: async () => void ({ state = '' } = await view.getOurs(call, id, how)),
      refused(cause: unknown): never {
        if (!isRefused(cause) || !PASSING.has(state)) throw cause;
        const message = `device ${id} accepts no action in state ${state}`;
        throw new ProviderError('transient', message, { cause });
      },
    };
  }

  /** Runs even after an abort. A failure is only logged; the first error is thrown. */
  async function putBack({ id, tags }: Device): Promise<void> {
    await withTimeLimit(clock, { ms: PUT_BACK_MS }, (own) => {
      const signal = AbortSignal.any([own, ended]);
      const call = begin(`cannot restore the tags of device ${id}`, signal);
      return client.updateDevice(call, id, { tags });
    }).catch((error: unknown) =>
      log.warn({ device: id, cause: explain(error) }, 'the tags of a device were not restored'),
    );
  }

  return {
    async setTags(call: Call, id: string, tags: Tags, how: CallOptions): Promise<void> {
      const device = await view.getOurs(call, id, how);
      await client.updateDevice(call, id, { tags: withOurTags(device.tags, tags) });
    },
    /** The API has only one kind of reboot, a hard one. */
    async reboot(call: Call, id: string, how: CallOptions): Promise<void> {
      const { look, refused } = watched(call, id, how);
      await client.actOnce(call, id, { type: 'reboot' }, { ...how, look }).catch(refused);
    },
    async power(call: Call, id: string, want: 'on' | 'off', how: CallOptions): Promise<void> {
      const { look, refused } = watched(call, id, how);
      await look();
      await client.switchPower(call, id, want, how.beforeSending).catch(refused);
    },
    /** Sets the new first-boot script and tags before requesting the installation. */
    async reinstall(
      call: Call,
      id: string,
      { image, tags, initCommand }: ReinstallRequest,
      { beforeSending, ...how }: CallOptions,
    ): Promise<void> {
      const device = await view.getOurs(call, id, how);
      const { state = '' } = device;
      if (PASSING.has(state)) {
        throw new ProviderError(
          'transient',
          `device ${id} cannot be reinstalled in state ${state}`,
        );
      }
      if (device.locked) {
        throw new ProviderError('conflict', `device ${id} is locked against reinstallation`);
      }
      const patch = { tags: withOurTags(device.tags, tags), userdata: initCommand };
      let prepared = false;
      try {
        await client.updateDevice(call, id, patch);
        prepared = true;
        const system = image === null ? {} : { operating_system: image };
        await client.actOnce(call, id, { type: 'reinstall', ...system }, { beforeSending });
      } catch (error) {
        // The tags may be new while the system is certainly the old one.
        const isUnknown = isProviderError(error) && error.outcome === 'unknown';
        if (isUnknown !== prepared) await putBack(device);
        throw error;
      }
    },
  };
}

/**
 * `free`: usable. `busy`: its device is being deleted, or it is being cleaned. `taken`: not ours
 * any more, because it holds another owner's device or left the project.
 */
export type ReservationState = 'free' | 'busy' | 'taken';

/** The API deletes no device during its installation. */
const NOT_YET: ReadonlySet<string> = new Set(['queued', 'provisioning']);

/** Deletes devices and tracks their reservations. */
export function createGiveBack(
  config: Pick<EquinixConfig, 'projectId' | 'devicePrefix'>,
  deps: {
    readonly client: EquinixClient;
    readonly view: Pick<DeviceView, 'get' | 'getOurs' | 'confirmGone'>;
    readonly clock: Pick<Clock, 'now'>;
  },
) {
  const { client, view, clock } = deps;

  async function renameAndDelete(call: Call, device: Device, how: CallOptions): Promise<void> {
    const { id, hostname = '', state: before = '' } = device;
    if (device.locked) throw new ProviderError('conflict', `device ${id} is locked`);
    const renamed = deletedName(hostname);
    if (hostname !== renamed) {
      await client.updateDevice(call, id, { hostname: renamed }, how.beforeSending);
    }
    try {
      const answer = await client.deleteDevice(call, id, how.beforeSending);
      if (answer === 'unknown device') await view.confirmGone(call, id);
    } catch (cause) {
      if (!isRefused(cause)) throw cause;
      const { state = '' } = await view.get(call, id);
      if (isGoing({ state })) return;
      // The installation may have ended between the refusal and this check.
      const installing = [state, before].find((each) => NOT_YET.has(each));
      if (installing === undefined) throw cause;
      const message = `device ${id} cannot be deleted in state ${installing}`;
      throw new ProviderError('transient', message, { cause });
    }
  }

  const isLeft = (device: Device): boolean => isGoing(device) || isLeaving(device, config);

  /** A reservation may still show a device that has left it, so the device itself is read. */
  async function isHeld(call: Call, { device }: Reservation): Promise<boolean> {
    const id = device && idOf(device);
    if (!device || !id) return false;
    if (isExpanded(device) && isLeft(device)) return false;
    const now = await view.get(call, id).catch(nullIfHidden);
    return now !== null && !isLeft(now);
  }

  return {
    /**
     * Renames the device and deletes it; continues an earlier attempt.
     * @throws {ProviderError} `not-found`: it is gone. `conflict`: it is not ours, or locked.
     *   `transient`: it is still being installed.
     */
    async deprovision(call: Call, id: string, how: CallOptions): Promise<void> {
      const device = await view.getOurs(call, id, how);
      if (isGoing(device)) return;
      try {
        await renameAndDelete(call, device, how);
      } catch (error) {
        if (!isNotFound(error)) throw error;
        await view.confirmGone(call, id);
      }
    },
    async stateOf(call: Call, reservationId: string): Promise<ReservationState> {
      const reservation = await client.getReservation(call, reservationId).catch(nullIfGone);
      if (!reservation) return 'taken';
      const projectId = idOf(reservation.project);
      if (projectId !== null && projectId !== config.projectId) return 'taken';
      if (classify(reservation, clock.now()) === 'available') return 'free';
      return (await isHeld(call, reservation)) ? 'taken' : 'busy';
    },
  };
}

/** Returns null for an object that does not exist or is hidden from us. */
const nullIfHidden = (error: unknown): null =>
  error instanceof Error && isForbidden(error.cause) ? null : nullIfGone(error);
