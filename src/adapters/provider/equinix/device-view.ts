import { isIPv4, isIPv6 } from 'node:net';
import { z } from 'zod';
import { ProviderError } from '../../../domain/errors.ts';
import { lookup } from '../../../lib/data.ts';
import type { Ownership, ProviderStatus } from '../../../domain/machine.ts';
import {
  DISPUTED,
  ownershipOf as ownershipByTags,
  SET_ID_TAG,
  TAG_PREFIX,
  WITNESS_TAG,
  type Tags,
} from '../../../domain/provisioning/provider-tags.ts';
import type { Call } from '../../driver-kit/call.ts';
import type { Log } from '../../log/port.ts';
import type { DriverMachine, CallOptions } from '../port.ts';
import { idOf, isExpanded, type Device, type IpAddress, type Reservation } from './api.ts';
import { isForbidden, type EquinixClient } from './client.ts';
import { DELETED_PREFIX, HOSTNAME_LENGTH_MAX, type EquinixConfig } from './settings.ts';

/**
 * Tags of this API are plain strings. The two that matter most have spellings of their own,
 * `<prefix><value>`; the others are `<key>=<value>`.
 */
const WITNESS_PREFIX = 'shepherd-idempotency-';
const OWNER_PREFIX = 'shepherd-owner-';
const OURS = [WITNESS_PREFIX, OWNER_PREFIX];

export const witnessTag = (witness: string): string => WITNESS_PREFIX + witness;
export const ownerTag = (instanceSetId: string): string => OWNER_PREFIX + instanceSetId;

/** As the port shows them: ours under their port names, `key=value` split, the rest with ''. */
export function toPortTags(tags: readonly string[]): Record<string, string> {
  const [witness] = valuesOf(tags, WITNESS_PREFIX);
  const owners = new Set(valuesOf(tags, OWNER_PREFIX));
  const [owner] = owners;
  const plain = tags.filter((tag) => !OURS.some((prefix) => tag.startsWith(prefix)));
  return {
    ...Object.fromEntries(plain.map(splitTag).filter(([key]) => !SPELLED_APART.has(key))),
    ...(witness === undefined ? {} : { [WITNESS_TAG]: witness }),
    ...(owner === undefined ? {} : { [SET_ID_TAG]: owners.size > 1 ? DISPUTED : owner }),
  };
}
/** Their plain spelling means nothing here: a mark has one form, or it could be given twice. */
const SPELLED_APART: ReadonlySet<string> = new Set([WITNESS_TAG, SET_ID_TAG]);

/** As the API takes them. */
export const toApiTags = (tags: Tags): string[] =>
  Object.entries(tags).map(([key, value]) => {
    if (key === WITNESS_TAG) return witnessTag(value);
    if (key === SET_ID_TAG) return ownerTag(value);
    return value === '' ? key : `${key}=${value}`;
  });

/** Tags of a device with those of ours replaced by `tags`; every other one stays as it is. */
export const withOurTags = (current: readonly string[], tags: Tags): string[] => [
  ...current.filter((tag) => !tag.startsWith(TAG_PREFIX)),
  ...toApiTags(Object.fromEntries(Object.entries(tags).filter(([key]) => isOurKey(key)))),
];
const isOurKey = (key: string): boolean => key.startsWith(TAG_PREFIX);

const valuesOf = (tags: readonly string[], prefix: string): string[] =>
  tags.filter((tag) => tag.startsWith(prefix)).map((tag) => tag.slice(prefix.length));

function splitTag(tag: string): [string, string] {
  const at = tag.indexOf('=');
  return at < 1 ? [tag, ''] : [tag.slice(0, at), tag.slice(at + 1)];
}

/** Whose device it is; one with two owners is disputed, so not ours. */
export const ownershipOf = (tags: readonly string[], instanceSetId: string): Ownership =>
  ownershipByTags(toPortTags(tags), instanceSetId);

interface Prefix {
  readonly devicePrefix: string;
}
type Named = Pick<Device, 'hostname'>;

/**
 * What a device is called while it goes away: its old name must neither match the prefix nor stand in
 * the way of the machine that comes after it.
 */
export function deletedName(hostname: string): string {
  if (hostname.startsWith(DELETED_PREFIX)) return hostname;
  return (DELETED_PREFIX + hostname).slice(0, HOSTNAME_LENGTH_MAX).replace(/[-.]+$/, '');
}

/** The name says that the device is being given back. */
export const isLeaving = ({ hostname = '' }: Named, { devicePrefix }: Prefix): boolean =>
  hostname.startsWith(DELETED_PREFIX + devicePrefix);

/** The name is one that we give: of a machine, or of one that goes away. */
export const isManaged = (device: Named, names: Prefix): boolean =>
  device.hostname?.startsWith(names.devicePrefix) === true || isLeaving(device, names);

/**
 * Its tags as the port shows them. A device without a name of ours is nobody's, whatever its tags
 * say: neither a tag that was copied nor a name that was changed may cost anybody a machine.
 */
export const tagsOf = (device: Device, names: Prefix): Tags =>
  isManaged(device, names)
    ? toPortTags(device.tags)
    : { ...toPortTags(device.tags), [SET_ID_TAG]: DISPUTED };

const REMOTE_USER = 'root';

const STATUSES: Readonly<Record<string, ProviderStatus>> = {
  queued: 'Provisioning',
  provisioning: 'Provisioning',
  post_provisioning: 'Provisioning',
  reinstalling: 'Provisioning',
  active: 'Running',
  inactive: 'Stopped',
  powering_on: 'Stopped',
  powering_off: 'Stopped',
  failed: 'ProvisioningFailedPermanent',
  deprovisioning: 'Missing',
  deleted: 'Missing',
};

/** What a device's state means for the fleet; `Unknown` for states that we never heard of. */
export const statusOf = (state: string | undefined): ProviderStatus =>
  lookup(STATUSES, state ?? '') ?? 'Unknown';

/** The API has accepted the device's end. */
export const isGoing = ({ state }: Pick<Device, 'state'>): boolean => statusOf(state) === 'Missing';

/** States in which a device stays; of all others nothing is certain. */
const POWER: Readonly<Record<string, DriverMachine['power']>> = {
  active: 'on',
  inactive: 'off',
  deleted: 'off',
};
const powerOf = (state: string | undefined): NonNullable<DriverMachine['power']> =>
  lookup(POWER, state ?? '') ?? 'unknown';

/**
 * Where to reach a device: public management addresses, IPv4 before IPv6, the first of its kind. If
 * no entry is for management, the public ones (`fallback`). Null when there is none. One with a zone
 * (`fe80::1%eth0`) means something on one host only.
 */
export function chooseAddress(
  entries: readonly IpAddress[],
): { readonly address: string; readonly fallback: boolean } | null {
  const fallback = !entries.some(({ management }) => management);
  const usable = entries.filter((entry) => entry.public && (fallback || entry.management));
  const texts = usable.map(({ address }) => address);
  const address = texts.find(isIPv4) ?? texts.find((text) => isIPv6(text) && !text.includes('%'));
  return address === undefined ? null : { address: canonical(address), fallback };
}
const canonical = (address: string): string =>
  isIPv4(address) ? address : new URL(`http://[${address}]/`).hostname.slice(1, -1);

const customdata = z.object({ ssh_port: z.number().int().min(1).max(65_535) });
/** With `portWanted`, null until the device's `customdata.ssh_port` is known. */
function addressOf(device: Device, portWanted: boolean): string | null {
  const chosen = chooseAddress(device.ip_addresses);
  if (!chosen || !portWanted) return chosen?.address ?? null;
  const parsed = customdata.safeParse(device.customdata);
  if (!parsed.success) return null;
  const host = chosen.address.includes(':') ? `[${chosen.address}]` : chosen.address;
  return `${host}:${parsed.data.ssh_port}`;
}

const locationOf = ({
  facility,
  metro,
}: Pick<Device, 'facility'> & Partial<Pick<Device, 'metro'>>) =>
  facility?.code ?? metro?.code ?? facility?.metro?.code ?? null;

/** A deployed device as the port shows it; by its tags, one without a name of ours is nobody's. */
export const toMachine = (device: Device, options: ViewOptions): DriverMachine => ({
  id: device.id,
  reservationId: idOf(device.hardware_reservation),
  hostname: device.hostname ?? null,
  plan: device.plan?.slug ?? '',
  location: locationOf(device),
  address: addressOf(device, options.sshPortFromCustomdata),
  remoteUser: REMOTE_USER,
  availability: 'KnownUsed',
  failed: device.state === 'failed',
  // One that was renamed to be deleted is no machine any more, even if its end was never asked for.
  status: isLeaving(device, options) ? 'Missing' : statusOf(device.state),
  power: powerOf(device.state),
  tags: tagsOf(device, options),
});
/** How devices are looked at. */
export type ViewOptions = Pick<
  EquinixConfig,
  'devicePrefix' | 'instanceSetId' | 'sshPortFromCustomdata'
>;

/** Free capacity as the port shows it. */
export const toFreeCapacity = (reservation: Reservation): DriverMachine => ({
  id: null,
  reservationId: reservation.id,
  plan: reservation.plan?.slug ?? '',
  location: locationOf(reservation),
  availability: 'KnownUnused',
});

/** Penalised ones are the core's business and count as available here. */
export type ReservationClass = 'inUse' | 'notProvisionable' | 'available';

export function classify(reservation: Reservation, nowMs: number): ReservationClass {
  const { device } = reservation;
  if (device && (isExpanded(device) || idOf(device) !== null)) return 'inUse';
  const ended = Date.parse(reservation.termination_time ?? '') <= nowMs;
  const usable = reservation.provisionable && !reservation.spare && !reservation.need_of_service;
  const described = reservation.plan?.slug !== undefined && reservation.facility !== undefined;
  return usable && described && !ended ? 'available' : 'notProvisionable';
}

/** All that is looked at of a device, so that a poll of many costs little. */
const ONLY_NEEDED = {
  include: 'facility,hardware_reservation',
  exclude: 'created_by,network_ports,operating_system,actions,provisioning_events,ssh_keys,volumes',
};

/** Devices as they are now, read one by one. */
export function createDeviceView(
  config: EquinixConfig,
  { client, log }: { readonly client: EquinixClient; readonly log: Log },
) {
  const told = new Set<string>();
  const warnOnce = (key: string, device: Device, message: string) => {
    if (told.has(key)) return;
    told.add(key);
    const { id: providerId, state } = device;
    log.warn({ provider: config.name, providerId, state }, message);
  };

  async function get(call: Call, id: string): Promise<Device> {
    try {
      return await client.getDevice(call, id, ONLY_NEEDED);
    } catch (error) {
      if (!isForbidden(error)) throw error;
      const isListed = await listShows(call, id);
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
  async function listShows(call: Call, id: string): Promise<boolean> {
    const devices = await client.listDevices(call, true);
    const listed = devices.items.find((device) => device.id === id);
    if (listed) return !isGoing(listed);
    if (devices.unread.some((device) => device.id === id)) return true;
    const { items, unread } = await client.listReservations(call, true);
    return unread.length > 0 || items.some(({ device }) => device && idOf(device) === id);
  }

  return {
    /**
     * @throws {ProviderError} `not-found`: it is gone, or hidden and in no list, which on this API
     *   means withdrawn. `transient`: hidden, and yet in a list.
     */
    get,
    /**
     * The second evidence for a device that the API said it does not know.
     * @throws {ProviderError} `transient`: lists show it, or something that cannot be read; or do not tell.
     */
    async confirmGone(call: Call, id: string): Promise<void> {
      if (!(await listShows(call, id))) return;
      const message = `device ${id} was said not to exist, and is listed: a proxy may have answered`;
      throw new ProviderError('transient', message);
    },
    /**
     * A device that is going to be changed.
     * @throws {ProviderError} see `CallOptions.requireOurs`, and `get`.
     */
    async getOurs(
      call: Call,
      id: string,
      { requireOurs }: Pick<CallOptions, 'requireOurs'>,
    ): Promise<Device> {
      const device = await get(call, id);
      requireOurs(toMachine(device, config));
      return device;
    },
    show(device: Device): DriverMachine {
      const { state = 'none' } = device;
      if (statusOf(state) === 'Unknown') warnOnce(state, device, 'device in an unknown state');
      if (chooseAddress(device.ip_addresses)?.fallback) {
        warnOnce('address', device, 'device has no management address; a public one is taken');
      }
      return toMachine(device, config);
    },
  };
}
export type DeviceView = ReturnType<typeof createDeviceView>;
