import { explain, ProviderError } from '../../../domain/errors.ts';
import type { Clock } from '../../clock/port.ts';
import type { Log } from '../../log/port.ts';
import { isApiError } from '../../http/errors.ts';
import type { CallOptions, OperationRef, Provider, ReinstallRequest } from '../port.ts';
import type { EquinixClient } from './client/client.ts';
import type { Device } from './client/schema.ts';
import type { DeviceView } from './device-view.ts';
import type { Door } from './door.ts';
import { withOurTags } from './tags.ts';

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
    const own = new AbortController();
    const timer = clock.setTimeout(() => own.abort(), PUT_BACK_MS);
    try {
      await client.updateDevice(id, { tags }, own.signal);
    } catch (error) {
      log.warn({ device: id, cause: explain(error) }, 'the tags of a device were not put back');
    } finally {
      clock.clearTimeout(timer);
    }
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
