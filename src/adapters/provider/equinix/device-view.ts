import { ProviderError } from '../../../domain/errors.ts';
import type { Log } from '../../log/port.ts';
import type { CallOptions, DriverMachine } from '../port.ts';
import type { EquinixClient } from './client/client.ts';
import { isApiError } from '../../http/errors.ts';
import type { Expansion } from './client/request-parts.ts';
import { type Device, idOf } from './client/schema.ts';
import { chooseAddress, isGoing, statusOf, toMachine } from './mapping.ts';
import type { EquinixConfig } from './settings.ts';

/** Devices as they are now, read one by one. */
export interface DeviceView {
  /**
   * @throws {ProviderError} `not-found`: it is gone, or hidden and in no list, which on this API
   *   means withdrawn. `transient`: hidden, and yet in a list.
   * @throws {ApiError}
   */
  get(id: string, signal: AbortSignal): Promise<Device>;
  /** All that is asked of a device, and what `get` makes of an error, for `catch`. */
  readonly needed: Expansion;
  ifHidden(id: string, signal: AbortSignal): (error: unknown) => Promise<never>;
  /**
   * A device that is going to be changed.
   * @throws {ProviderError} see `CallOptions.requireOurs`, and `get`.
   */
  getOurs(id: string, options: Pick<CallOptions, 'signal' | 'requireOurs'>): Promise<Device>;
  /**
   * The second evidence for a device that the API said it does not know.
   * @throws {ProviderError} `transient`: lists show it, or something that cannot be read.
   * @throws {ApiError} such as `PartialListing`: they do not tell.
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

  const get = (id: string, signal: AbortSignal): Promise<Device> =>
    client.getDevice(id, signal, ONLY_NEEDED).catch(ifHidden(id, signal));

  const ifHidden =
    (id: string, signal: AbortSignal) =>
    async (error: unknown): Promise<never> => {
      if (!isApiError(error, 'Forbidden')) throw error;
      const isListed = await listShows(id, signal);
      const [kind, hint] = isListed
        ? (['transient', 'and yet in a list'] as const)
        : (['not-found', 'so probably gone'] as const);
      throw new ProviderError(kind, `device ${id} is hidden from us, ${hint}`, { cause: error });
    };

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
    ifHidden,
    needed: ONLY_NEEDED,
    async confirmGone(id, signal) {
      if (!(await listShows(id, signal))) return;
      const message = `device ${id} was said not to exist, and is listed: a proxy may have answered`;
      throw new ProviderError('transient', message);
    },
    async getOurs(id, { signal, requireOurs }) {
      const device = await get(id, signal);
      requireOurs(toMachine(device, config));
      return device;
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
