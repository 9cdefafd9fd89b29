import { isIPv4, isIPv6 } from 'node:net';
import { z } from 'zod';
import { lookup } from '../../../lib/data.ts';
import type { ProviderStatus } from '../../../domain/machine.ts';
import type { DriverMachine } from '../port.ts';
import {
  type Device,
  idOf,
  type IpAddress,
  isExpanded,
  type Reservation,
} from './client/schema.ts';
import { isLeaving, tagsOf } from './ownership.ts';
import type { EquinixConfig } from './settings.ts';

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
