import {
  idOf,
  isExpanded,
  type Device,
  type Reservation,
} from '../../adapters/provider/equinix/client/schema.ts';
import { isManaged } from '../../adapters/provider/equinix/ownership.ts';
import { ownershipOf, toPortTags } from '../../adapters/provider/equinix/tags.ts';
import { RemoteFailure, UsageError } from '../../domain/errors.ts';
import { DISPUTED, SET_ID_TAG } from '../../domain/provisioning/provider-tags.ts';
import type { Access } from './access.ts';

/** @throws {UsageError} nobody said which devices are meant. */
export function requireReach({ prefix, allOwners }: Access): void {
  if (allOwners || (prefix !== null && prefix !== '')) return;
  throw new UsageError('say which devices are meant: --prefix, --config, or --all-owners');
}

/** Whose it is, for people. */
export function ownerText({ tags }: Pick<Device, 'tags'>): string {
  const owner = toPortTags(tags)[SET_ID_TAG] ?? 'nobody';
  return owner === DISPUTED ? 'several owners' : owner;
}

/**
 * A device that the operator means: by its prefix, and if we know who we are not another owner's;
 * with `--all-owners` every one.
 */
export const isMeant = (device: Device, { config, owner, allOwners }: Access): boolean =>
  allOwners || (isManaged(device, config) && (owner === null || !isForeign(device, owner)));

/** Not even the operator gives away a device of another owner by the way. */
export const isTakeable = (device: Device, access: Access): boolean =>
  isManaged(device, access.config) && !isForeign(device, access.owner ?? '');

const isForeign = ({ tags }: Device, owner: string): boolean =>
  ownershipOf(tags, owner) === 'foreign';

/**
 * A device as it is now: between a listing and an act there may be a question, and a whole weekend.
 * @throws {RemoteFailure} it is not meant any more. @throws {ApiError} such as that it is gone.
 */
export async function stillMeant(id: string, access: Access, signal: AbortSignal): Promise<Device> {
  const now = await access.view.get(id, signal);
  if (isMeant(now, access)) return now;
  const whose = `${now.hostname ?? 'a device'} of ${ownerText(now)}`;
  throw new RemoteFailure(`device ${id} is not meant any more: it is ${whose} now`);
}

/** The device on a reservation, read by itself if only its address came. */
export async function deviceOn(
  { device }: Reservation,
  { client }: Access,
  signal: AbortSignal,
): Promise<Device | null> {
  if (!device) return null;
  if (isExpanded(device)) return device;
  const id = idOf(device);
  return id === null ? null : client.getDevice(id, signal);
}
