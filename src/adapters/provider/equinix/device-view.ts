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
 * Tags of this API are plain strings. Our creation key and owner are `<prefix><value>`; other tags
 * are `<key>=<value>`.
 */
const WITNESS_PREFIX = 'shepherd-idempotency-';
const OWNER_PREFIX = 'shepherd-owner-';
const OURS = [WITNESS_PREFIX, OWNER_PREFIX];

export const witnessTag = (witness: string): string => WITNESS_PREFIX + witness;
export const ownerTag = (instanceSetId: string): string => OWNER_PREFIX + instanceSetId;

/** Tags in the port's form: ours by port name, `key=value` split, others with '' as value. */
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
/** Their plain spelling is ignored: each mark has one form, so that it cannot appear twice. */
const SPELLED_APART: ReadonlySet<string> = new Set([WITNESS_TAG, SET_ID_TAG]);

/** Tags in the API's form. */
export const toApiTags = (tags: Tags): string[] =>
  Object.entries(tags).map(([key, value]) => {
    if (key === WITNESS_TAG) return witnessTag(value);
    if (key === SET_ID_TAG) return ownerTag(value);
    return value === '' ? key : `${key}=${value}`;
  });

/** Tags of a device with ours replaced by `tags`; all others stay. */
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

/** The device's owner; a device with two owners is disputed, so not ours. */
export const ownershipOf = (tags: readonly string[], instanceSetId: string): Ownership =>
  ownershipByTags(toPortTags(tags), instanceSetId);

interface Prefix {
  readonly devicePrefix: string;
}
type NamedDevice = Pick<Device, 'hostname'>;

/** Name during deletion: must neither match the prefix nor block the next machine's name. */
export function deletedName(hostname: string): string {
  if (hostname.startsWith(DELETED_PREFIX)) return hostname;
  return (DELETED_PREFIX + hostname).slice(0, HOSTNAME_LENGTH_MAX).replace(/[-.]+$/, '');
}

/** True if the name marks a device that is being deleted. */
export const isLeaving = ({ hostname = '' }: NamedDevice, { devicePrefix }: Prefix): boolean =>
  hostname.startsWith(DELETED_PREFIX + devicePrefix);

/** True if we gave the name, to a machine or to a device that is being deleted. */
export const isManaged = (device: NamedDevice, names: Prefix): boolean =>
  device.hostname?.startsWith(names.devicePrefix) === true || isLeaving(device, names);

/**
 * Tags in the port's form. A device without one of our names belongs to nobody, whatever its tags
 * say. A copied tag or a changed name must not cost anybody a machine.
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

/** Fleet status of a device's state; `Unknown` for unknown states. */
export const statusOf = (state: string | undefined): ProviderStatus =>
  lookup(STATUSES, state ?? '') ?? 'Unknown';

/** The API has accepted the deletion. */
export const isGoing = ({ state }: Pick<Device, 'state'>): boolean => statusOf(state) === 'Missing';

/** Stable states; all others leave the power unknown. */
const POWER: Readonly<Record<string, DriverMachine['power']>> = {
  active: 'on',
  inactive: 'off',
  deleted: 'off',
};
const powerOf = (state: string | undefined): NonNullable<DriverMachine['power']> =>
  lookup(POWER, state ?? '') ?? 'unknown';

/**
 * Chooses the address for SSH: public management addresses, IPv4 before IPv6, the first of its
 * kind. If no entry is for management, a public one (`fallback`). Null if there is none. Addresses
 * with a zone (`fe80::1%eth0`) are skipped, because they are valid on one host only.
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

/** A device in the port's form; without one of our names, its tags show no owner. */
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
  // A device renamed for deletion is no machine any more, even if the deletion was never requested.
  status: isLeaving(device, options) ? 'Missing' : statusOf(device.state),
  power: powerOf(device.state),
  tags: tagsOf(device, options),
});
/** Settings that the view of devices needs. */
export type ViewOptions = Pick<
  EquinixConfig,
  'devicePrefix' | 'instanceSetId' | 'sshPortFromCustomdata'
>;

/** A free reservation in the port's form. */
export const toFreeCapacity = (reservation: Reservation): DriverMachine => ({
  id: null,
  reservationId: reservation.id,
  plan: reservation.plan?.slug ?? '',
  location: locationOf(reservation),
  availability: 'KnownUnused',
});

/** Slots under a penalty count as available here; the core handles penalties. */
export type ReservationClass = 'inUse' | 'notProvisionable' | 'available';

export function classify(reservation: Reservation, nowMs: number): ReservationClass {
  const { device } = reservation;
  if (device && (isExpanded(device) || idOf(device) !== null)) return 'inUse';
  const ended = Date.parse(reservation.termination_time ?? '') <= nowMs;
  const usable = reservation.provisionable && !reservation.spare && !reservation.need_of_service;
  const described = reservation.plan?.slug !== undefined && reservation.facility !== undefined;
  return usable && described && !ended ? 'available' : 'notProvisionable';
}

/** Only the needed fields, so that polling many devices costs little. */
const ONLY_NEEDED = {
  include: 'facility,hardware_reservation',
  exclude: 'created_by,network_ports,operating_system,actions,provisioning_events,ssh_keys,volumes',
};

/** Reads current devices one by one. */
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
        ? (['transient', 'but a list contains it'] as const)
        : (['not-found', 'so probably gone'] as const);
      throw new ProviderError(kind, `device ${id} is hidden from us, ${hint}`, { cause: error });
    }
  }

  /**
   * The API hides deleted devices behind 403, and one such reply proves little. A device whose
   * deletion was accepted does not count.
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
     * @throws {ProviderError} `not-found`: the device is gone, or hidden and in no listing, which
     *   on this API means deleted. `transient`: hidden, but in a listing.
     */
    get,
    /**
     * Second check of a device that the API reported as unknown.
     * @throws {ProviderError} `transient`: a listing shows it or an unreadable entry, or is
     *   incomplete.
     */
    async confirmGone(call: Call, id: string): Promise<void> {
      if (!(await listShows(call, id))) return;
      const message = `device ${id} was reported as not existing, but is listed: a proxy may have answered`;
      throw new ProviderError('transient', message);
    },
    /**
     * Reads a device that will be changed.
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
      if (statusOf(state) === 'Unknown') warnOnce(state, device, 'a device is in an unknown state');
      if (chooseAddress(device.ip_addresses)?.fallback) {
        warnOnce('address', device, 'a device has no management address; a public one is used');
      }
      return toMachine(device, config);
    },
  };
}
export type DeviceView = ReturnType<typeof createDeviceView>;
