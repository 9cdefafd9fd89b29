import { DISPUTED, SET_ID_TAG, type Tags } from '../../../domain/provisioning/provider-tags.ts';
import type { Device } from './client/schema.ts';
import { toPortTags } from './tags.ts';

/** Devices about to be deleted are renamed with this first. */
export const DELETED_PREFIX = 'deleted-';
/** Longest label of a domain name. */
export const HOSTNAME_LENGTH_MAX = 63;
/** Characters of a reservation's id that make a hostname: three hyphenated groups. */
export const HOSTNAME_ID_LENGTH = 18;

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
