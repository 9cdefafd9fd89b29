import { ProviderError, explain, isProviderError } from '../../../domain/errors.ts';
import { withTimeLimit } from '../../clock/port.ts';
import type { Clock } from '../../clock/port.ts';
import { isApiError, toProviderError, isNotFound } from '../../driver-kit/errors.ts';
import type { Log } from '../../log/port.ts';
import type { CallOptions, OperationRef, Provider, ReinstallRequest } from '../port.ts';
import { idOf, isExpanded, type Device, type Reservation } from './api.ts';
import type { EquinixClient } from './client.ts';
import {
  withOurTags,
  classify,
  isGoing,
  deletedName,
  isLeaving,
  type DeviceView,
} from './device-view.ts';
import type { EquinixConfig } from './settings.ts';

/** The way of every method of the port. */
export function createDoor() {
  let closed = false;
  return {
    /**
     * Answers with what makes of whatever the client throws one of the port's errors, saying what was
     * being done; for `catch`.
     * @throws {ProviderError} `stopped`.
     */
    enter(doing: string): (error: unknown) => never {
      if (closed) throw new ProviderError('stopped', `${doing}: the provider was stopped`);
      return (error) => {
        throw isQuota(error)
          ? new ProviderError('transient', doing, { cause: error, quota: true })
          : toProviderError(error, doing);
      };
    },
    /** Later calls reject with `stopped`. */
    close: (): void => void (closed = true),
  };
}
export type Door = ReturnType<typeof createDoor>;

/**
 * The server said that the account may not have more. Nothing documents how it says so; a reservation
 * is not to be blamed for it.
 */
const isQuota = (error: unknown): boolean =>
  isApiError(error, 'Rejected', 'Forbidden') &&
  error.op === 'createDevice' &&
  !error.ambiguous &&
  error.messages.some((text) => QUOTA.test(text));
const QUOTA = new RegExp(
  [
    /\bquota\b/,
    /\b(device|instance|server|project|account)s? limit\b/,
    /maximum number of (\w+ )?(device|instance|server|machine)s?\b/,
  ]
    .map(({ source }) => source)
    .join('|'),
  'i',
);

/**
 * What is done to devices of ours that stay. All reject with `conflict` for any other device, and with
 * `transient` for one whose state will pass.
 */
type Changes = Required<
  Pick<Provider, 'setTags' | 'rebootMachine' | 'setPower' | 'reinstallMachine'>
>;

/** States that end by themselves, and in which no action is taken. */
const PASSING: ReadonlySet<string> = new Set([
  'queued',
  'provisioning',
  'post_provisioning',
  'reinstalling',
  'powering_on',
  'powering_off',
]);

/** How long the old tags may take to be put back. */
const PUT_BACK_MS = 20_000;

export function createChanges(deps: {
  readonly client: EquinixClient;
  readonly view: Pick<DeviceView, 'getOurs'>;
  readonly door: Pick<Door, 'enter'>;
  readonly clock: Pick<Clock, 'now' | 'setTimeout' | 'clearTimeout'>;
  readonly log: Log;
}): Changes {
  const { client, view, door, clock, log } = deps;

  /** Looks at a device before an action; what refuses that because of a state that passes may pass. */
  function watched(id: string, how: CallOptions) {
    let state = '';
    return {
      look: async () => void ({ state = '' } = await view.getOurs(id, how)),
      refused(cause: unknown): never {
        if (!isApiError(cause, 'Rejected') || cause.ambiguous || !PASSING.has(state)) throw cause;
        const message = `device ${id} takes no action while ${state}`;
        throw new ProviderError('transient', message, { cause });
      },
    };
  }

  /** Also where the caller's signal ended it. A failure is told; the first error is what is thrown. */
  async function putBack({ id, tags }: Device): Promise<void> {
    await withTimeLimit(clock, { ms: PUT_BACK_MS }, (own) =>
      client.updateDevice(id, { tags }, own),
    ).catch((error: unknown) =>
      log.warn({ device: id, cause: explain(error) }, 'the tags of a device were not put back'),
    );
  }

  /** The new first-boot script and tags are in place before the installation is asked for. */
  async function reinstall(
    id: string,
    { image, tags, initCommand }: ReinstallRequest,
    how: CallOptions,
  ): Promise<void> {
    const { signal } = how;
    const device = await view.getOurs(id, how);
    const { state = '' } = device;
    if (PASSING.has(state)) {
      throw new ProviderError('transient', `device ${id} cannot be reinstalled while ${state}`);
    }
    if (device.locked) {
      throw new ProviderError('conflict', `device ${id} is locked against reinstallation`);
    }
    const patch = { tags: withOurTags(device.tags, tags), userdata: initCommand };
    let prepared = false;
    try {
      await client.updateDevice(id, patch, signal);
      prepared = true;
      const options = image === null ? {} : { operatingSystem: image };
      await client.reinstallDevice(id, options, signal, how);
    } catch (error) {
      // The tags may be new and the system is surely the old one.
      const isAmbiguous = isApiError(error) && error.ambiguous;
      if (isAmbiguous !== prepared) await putBack(device);
      throw error;
    }
  }

  const refOf = (action: string, id: string): OperationRef => ({
    operationRef: `${action}/${id}/${new Date(clock.now()).toISOString()}`,
  });

  return {
    async setTags(id, tags, how) {
      const failed = door.enter(`cannot tag device ${id}`);
      const device = await view.getOurs(id, how).catch(failed);
      const patch = { tags: withOurTags(device.tags, tags) };
      await client.updateDevice(id, patch, how.signal).catch(failed);
    },
    /** The API knows one kind of reboot, which asks nobody. */
    async rebootMachine(id, _mode, how) {
      const failed = door.enter(`cannot reboot device ${id}`);
      const { look, refused } = watched(id, how);
      await client
        .rebootDevice(id, how.signal, { ...how, look })
        .catch(refused)
        .catch(failed);
      return refOf('reboot', id);
    },
    async setPower(id, want, how) {
      const failed = door.enter(`cannot switch ${want} device ${id}`);
      const { look, refused } = watched(id, how);
      const power = want === 'on' ? client.powerOn : client.powerOff;
      await look().catch(failed);
      await power(id, how.signal, how).catch(refused).catch(failed);
      return refOf(`power-${want}`, id);
    },
    async reinstallMachine(id, request, how) {
      const failed = door.enter(`cannot reinstall device ${id}`);
      await reinstall(id, request, how).catch(failed);
      return refOf('reinstall', id);
    },
  };
}

/**
 * `free`: it can be used. `busy`: its device is going, or it is being cleaned. `taken`: out of our
 * hands, since somebody else's device is on it or it is no longer the project's.
 */
export type ReservationState = 'free' | 'busy' | 'taken';

/** The API deletes nothing while it installs. */
const NOT_YET: ReadonlySet<string> = new Set(['queued', 'provisioning']);

/** How devices go, and what becomes of their reservations. */
export function createGiveBack(
  config: Pick<EquinixConfig, 'projectId' | 'devicePrefix'>,
  deps: {
    readonly client: EquinixClient;
    readonly view: Pick<DeviceView, 'get' | 'getOurs' | 'confirmGone'>;
    readonly clock: Pick<Clock, 'now'>;
  },
) {
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
    /**
     * Renames the device and has it deleted; continues what was begun earlier.
     * @throws {ProviderError} `not-found`: it is gone. `conflict`: it is not ours, or locked.
     *   `transient`: not yet, it is being installed.
     */
    async deprovision(id: string, how: CallOptions): Promise<void> {
      await remove(await view.getOurs(id, how), how);
    },
    async stateOf(reservationId: string, signal: AbortSignal): Promise<ReservationState> {
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
