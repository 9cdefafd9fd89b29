import { explain, ProviderError } from '../../../domain/errors.ts';
import type { Tags } from '../../../domain/provisioning/provider-tags.ts';
import type { Clock } from '../../clock/port.ts';
import type { Log } from '../../log/port.ts';
import type { CallOptions, ReinstallRequest } from '../port.ts';
import type { EquinixClient } from './client/client.ts';
import { isApiError } from '../http/errors.ts';
import type { Device } from './client/schema.ts';
import type { DeviceView } from './device-view.ts';
import { withOurTags } from './tags.ts';

/**
 * What is done to devices of ours that stay. All reject with `conflict` for any other device, and with
 * `transient` for one whose state will pass.
 */
export interface Changes {
  setTags(id: string, tags: Tags, how: CallOptions): Promise<void>;
  reboot(id: string, how: CallOptions): Promise<void>;
  setPower(id: string, want: 'on' | 'off', how: CallOptions): Promise<void>;
  /** The new first-boot script and tags are in place before the installation is asked for. */
  reinstall(id: string, request: ReinstallRequest, how: CallOptions): Promise<void>;
}

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
  readonly clock: Pick<Clock, 'setTimeout' | 'clearTimeout'>;
  readonly log: Log;
}): Changes {
  const { client, view, clock, log } = deps;

  /**
   * Asks for an action, after a look at the device. A refusal because of a state that passes may be
   * repeated.
   */
  async function act(
    id: string,
    how: CallOptions,
    request: (look: () => Promise<void>) => Promise<void>,
  ): Promise<void> {
    let state = '';
    const look = async () => void ({ state = '' } = await view.getOurs(id, how));
    try {
      await request(look);
    } catch (error) {
      if (!isApiError(error, 'Rejected') || error.ambiguous || !PASSING.has(state)) throw error;
      throw new ProviderError('transient', `device ${id} takes no action while ${state}`, {
        cause: error,
      });
    }
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

  return {
    async setTags(id, tags, how) {
      const device = await view.getOurs(id, how);
      await client.updateDevice(id, { tags: withOurTags(device.tags, tags) }, how.signal);
    },
    reboot: (id, how) =>
      act(id, how, (look) => client.rebootDevice(id, how.signal, { ...how, look })),
    setPower: (id, want, how) =>
      act(id, how, async (look) => {
        await look();
        const { powerOn, powerOff } = client;
        await (want === 'on' ? powerOn : powerOff)(id, how.signal, how);
      }),
    async reinstall(id, { image, tags, initCommand }, how) {
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
    },
  };
}
