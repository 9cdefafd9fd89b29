import { z } from 'zod';
import { isUuid } from '../../../domain/ids.ts';

/**
 * The fields of the API's replies that we use; unknown ones pass. Nulls are dropped before, so a
 * field is either there or missing.
 */
const uuid = z.string().refine(isUuid);

/** A related object, expanded or as `href` only. */
const relation = z.object({ id: z.string().optional(), href: z.string().optional() });
export type Relation = z.infer<typeof relation>;

const coded = relation.extend({ code: z.string().optional() });
const facility = coded.extend({ metro: coded.optional() });
const slugged = z.object({ slug: z.string().optional(), name: z.string().optional() });

const ipAddress = z.object({
  address: z.string(),
  address_family: z.number(),
  public: z.boolean().optional(),
  management: z.boolean().optional(),
});
export type IpAddress = z.infer<typeof ipAddress>;

export const device = z.object({
  id: uuid,
  hostname: z.string().optional(),
  state: z.string().optional(),
  tags: z.array(z.string()).default([]),
  ip_addresses: z.array(ipAddress).default([]),
  facility: facility.optional(),
  metro: coded.optional(),
  plan: slugged.optional(),
  project: relation.optional(),
  hardware_reservation: relation.optional(),
  /** Whatever its owner put there, only `ssh_port` is read. May hold secrets: never logged. */
  customdata: z.unknown().optional(),
});
export type Device = z.infer<typeof device>;

export const reservation = z.object({
  id: uuid,
  provisionable: z.boolean().optional(),
  spare: z.boolean().optional(),
  need_of_service: z.boolean().optional(),
  termination_time: z.string().optional(),
  plan: slugged.optional(),
  facility: facility.optional(),
  project: relation.optional(),
  /** An href, or with `include=device` the device. */
  device: z.union([device, relation]).optional(),
});
export type Reservation = z.infer<typeof reservation>;

export const sshKey = z.object({ id: uuid, label: z.string(), key: z.string() });
export type SshKey = z.infer<typeof sshKey>;

export const deviceEvent = z.object({
  /** Missing while the event is only expected. */
  id: z.string().optional(),
  type: z.string().optional(),
  body: z.string().optional(),
  created_at: z.string().optional(),
});
export type DeviceEvent = z.infer<typeof deviceEvent>;

const meta = z.object({
  total: z.number(),
  current_page: z.number(),
  last_page: z.number(),
  next: z.unknown().optional(),
});
export type PageMeta = z.infer<typeof meta>;

export const devicePage = z.object({ devices: z.array(device).default([]), meta });
export const reservationPage = z.object({
  hardware_reservations: z.array(reservation).default([]),
  meta,
});
export const sshKeyList = z.object({ ssh_keys: z.array(sshKey).default([]) });
export const eventPage = z.object({ events: z.array(deviceEvent).default([]) });
/** Replies without content, whatever they hold. */
export const nothing = z.unknown().transform(() => undefined);

/** Id of a related object; an `href` is never followed, only its last part is read. */
export const idOf = (related: Relation | undefined): string | null =>
  related?.id ?? related?.href?.split('/').at(-1) ?? null;

/** A related device that came whole, not only as its address. */
export const isExpanded = (related: Device | Relation): related is Device =>
  'tags' in related && related.hostname !== undefined;
