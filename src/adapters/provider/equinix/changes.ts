import { explain, ProviderError } from '../../../domain/errors.ts';
import { SET_ID_TAG, type Tags } from '../../../domain/provisioning/provider-tags.ts';
import type { Clock } from '../../clock/port.ts';
import type { Log } from '../../log/port.ts';
import type { CallOptions, ReinstallRequest } from '../port.ts';
import type { EquinixClient } from './client/client.ts';
import { isEquinixError } from './client/errors.ts';
import type { Device } from './client/schema.ts';
import type { DeviceView } from './device-view.ts';
import type { EquinixConfig } from './settings.ts';
import { withOurTags } from './tags.ts';

/**
 * What is done to devices of ours that stay. All reject with `auth` for any other device, and with
 * `transient` for one whose state will pass.
 */
export interface Changes {
  /** Tags with our mark make a device ours that was nobody's. */
  setTags(id: string, tags: Tags, signal: AbortSignal): Promise<void>;
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

export function createChanges(
  { instanceSetId }: Pick<EquinixConfig, 'instanceSetId'>,
  deps: {
    readonly client: EquinixClient;
    readonly view: DeviceView;
    readonly clock: Pick<Clock, 'setTimeout' | 'clearTimeout'>;
    readonly log: Log;
  },
): Changes {
  const { client, view, clock, log } = deps;

  /** A refusal because of a state that passes may be repeated. */
  async function act(device: Device, action: () => Promise<void>): Promise<void> {
    const { id, state = '' } = device;
    try {
      await action();
    } catch (error) {
      if (!isEquinixError(error, 'Rejected') || error.ambiguous || !PASSING.has(state)) throw error;
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
    async setTags(id, tags, signal) {
      const orNobodys = tags[SET_ID_TAG] === instanceSetId;
      const device = await view.getOurs(id, signal, { orNobodys });
      await client.updateDevice(id, { tags: withOurTags(device.tags, tags) }, signal);
    },
    async reboot(id, how) {
      const device = await view.getOurs(id, how.signal);
      await act(device, () => client.rebootDevice(id, how.signal, how));
    },
    async setPower(id, want, how) {
      const device = await view.getOurs(id, how.signal);
      const { powerOn, powerOff } = client;
      await act(device, () => (want === 'on' ? powerOn : powerOff)(id, how.signal, how));
    },
    async reinstall(id, { image, tags, initCommand }, how) {
      const { signal } = how;
      const device = await view.getOurs(id, signal);
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
        const isAmbiguous = isEquinixError(error) && error.ambiguous;
        if (isAmbiguous !== prepared) await putBack(device);
        throw error;
      }
    },
  };
}
