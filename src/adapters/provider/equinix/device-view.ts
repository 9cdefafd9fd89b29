import { ProviderError } from '../../../domain/errors.ts';
import type { Ownership } from '../../../domain/machine.ts';
import type { Log } from '../../log/port.ts';
import type { DriverMachine } from '../port.ts';
import type { EquinixClient } from './client/client.ts';
import { isEquinixError } from './client/errors.ts';
import type { Expansion } from './client/request-parts.ts';
import { type Device, idOf } from './client/schema.ts';
import { chooseAddress, isGoing, statusOf, toMachine } from './mapping.ts';
import { isManaged } from './ownership.ts';
import type { EquinixConfig } from './settings.ts';
import { ownershipOf } from './tags.ts';

/** Devices as they are now, read one by one. */
export interface DeviceView {
  /**
   * @throws {ProviderError} `not-found`: it is gone, or hidden and in no list, which on this API
   *   means withdrawn. `transient`: hidden, and yet in a list.
   * @throws {EquinixError}
   */
  get(id: string, signal: AbortSignal): Promise<Device>;
  /**
   * A device that may be changed.
   * @param options `orNobodys`: one with a name of ours and no owner tag, too.
   * @throws {ProviderError} `auth`: it is not ours by name and by owner tag.
   */
  getOurs(
    id: string,
    signal: AbortSignal,
    options?: { readonly orNobodys: boolean },
  ): Promise<Device>;
  /**
   * The second evidence for a device that the API said it does not know.
   * @throws {ProviderError} `transient`: lists show it, or something that cannot be read.
   * @throws {EquinixError} such as `PartialListing`: they do not tell.
   */
  confirmGone(id: string, signal: AbortSignal): Promise<void>;
  show(device: Device): DriverMachine;
}

/** All that is looked at of a device, so that a poll of many costs little. */
const ONLY_NEEDED: Expansion = {
  include: ['hardware_reservation'],
  exclude: [
    'created_by',
    'network_ports',
    'operating_system',
    'actions',
    'provisioning_events',
    'ssh_keys',
    'volumes',
  ],
};

export function createDeviceView(
  config: EquinixConfig,
  { client, log }: { readonly client: EquinixClient; readonly log: Log },
): DeviceView {
  const told = new Set<string>();
  const warnOnce = (key: string, device: Device, message: string) => {
    if (told.has(key)) return;
    told.add(key);
    const { id: providerId, state } = device;
    log.warn({ provider: config.name, providerId, state }, message);
  };

  async function get(id: string, signal: AbortSignal): Promise<Device> {
    try {
      return await client.getDevice(id, signal, ONLY_NEEDED);
    } catch (error) {
      if (!isEquinixError(error, 'Forbidden')) throw error;
      const isListed = await listShows(id, signal);
      const [kind, hint] = isListed
        ? (['transient', 'and yet in a list'] as const)
        : (['not-found', 'so probably gone'] as const);
      throw new ProviderError(kind, `device ${id} is hidden from us, ${hint}`, { cause: error });
    }
  }

  /**
   * Withdrawn devices are hidden behind 403, and one such answer proves little. A device whose end
   * was accepted does not count.
   */
  async function listShows(id: string, signal: AbortSignal): Promise<boolean> {
    const devices = await client.listDevices(signal, { insist: true });
    const listed = devices.items.find((device) => device.id === id);
    if (listed) return !isGoing(listed);
    if (devices.unread.some((device) => device.id === id)) return true;
    const { items, unread } = await client.listReservations(signal, { insist: true });
    return unread.length > 0 || items.some(({ device }) => device && idOf(device) === id);
  }

  return {
    get,
    async confirmGone(id, signal) {
      if (!(await listShows(id, signal))) return;
      const message = `device ${id} was said not to exist, and is listed: a proxy may have answered`;
      throw new ProviderError('transient', message);
    },
    async getOurs(id, signal, { orNobodys } = { orNobodys: false }) {
      const device = await get(id, signal);
      const owners: readonly Ownership[] = orNobodys ? ['ours', 'untagged'] : ['ours'];
      const isOf = ownershipOf(device.tags, config.instanceSetId);
      if (isManaged(device, config) && owners.includes(isOf)) return device;
      throw new ProviderError('auth', `device ${id} is not ours by name and by owner tag`);
    },
    show(device) {
      const { state = 'none' } = device;
      if (statusOf(state) === 'Unknown') warnOnce(state, device, 'device in an unknown state');
      if (chooseAddress(device.ip_addresses)?.fallback) {
        warnOnce('address', device, 'device has no management address; a public one is taken');
      }
      return toMachine(device, config);
    },
  };
}
