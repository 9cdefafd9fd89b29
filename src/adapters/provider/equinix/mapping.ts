import { isIPv4, isIPv6 } from 'node:net';
import { z } from 'zod';
import type { ProviderMachine, ProviderStatus } from '../../../domain/machine.ts';
import { type Device, idOf, type IpAddress, isExpanded, type Reservation } from './schema.ts';
import { ownershipOf, toPortTags } from './tags.ts';

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
  (state === undefined ? undefined : STATUSES[state]) ?? 'Unknown';

const powerOf = (state: string | undefined): ProviderMachine['power'] =>
  state === 'active' ? 'on' : state === 'inactive' ? 'off' : 'unknown';

/**
 * Where to reach a device: public management addresses, IPv4 before IPv6, the first of its kind. If
 * no entry is for management, the public ones (`fallback`). Null when there is none.
 */
export function chooseAddress(
  entries: readonly IpAddress[],
): { readonly address: string; readonly fallback: boolean } | null {
  const fallback = !entries.some(({ management }) => management);
  const usable = entries.filter((entry) => entry.public && (fallback || entry.management));
  const texts = usable.map(({ address }) => address);
  const address = texts.find(isIPv4) ?? texts.find((text) => isIPv6(text));
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

/** A deployed device as the port shows it. */
export function toMachine(
  device: Device,
  options: {
    readonly portFromCustomdata: boolean;
    readonly instanceSetId: string;
    readonly nowMs: number;
  },
): ProviderMachine {
  return {
    id: device.id,
    reservationId: idOf(device.hardware_reservation),
    hostname: device.hostname ?? null,
    plan: device.plan?.slug ?? '',
    location: locationOf(device),
    address: addressOf(device, options.portFromCustomdata),
    remoteUser: REMOTE_USER,
    availability: 'KnownUsed',
    failed: device.state === 'failed',
    status: statusOf(device.state),
    power: powerOf(device.state),
    tags: toPortTags(device.tags),
    ownership: ownershipOf(device.tags, options.instanceSetId),
    observedAtMs: options.nowMs,
  };
}

/** Free capacity as the port shows it. */
export const toFreeCapacity = (reservation: Reservation, nowMs: number): ProviderMachine => ({
  id: null,
  reservationId: reservation.id,
  hostname: null,
  plan: reservation.plan?.slug ?? '',
  location: locationOf(reservation),
  address: null,
  remoteUser: REMOTE_USER,
  availability: 'KnownUnused',
  failed: false,
  status: null,
  power: 'unknown',
  tags: {},
  ownership: 'ours',
  observedAtMs: nowMs,
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
