import { z } from 'zod';
import { isUuid } from '../../../domain/ids.ts';
import { createApi, type Api } from '../../driver-kit/api.ts';
import type { ApiDeps } from '../../driver-kit/terms.ts';
import type { Call } from '../../driver-kit/call.ts';
import type { AnswerForm } from '../../driver-kit/outcome.ts';
import { entriesOf, type Unread } from '../../driver-kit/pages.ts';
import type { MetricName, MetricsOf } from '../../metrics/port.ts';
import { timingsOf, type EquinixConfig } from './settings.ts';

/** Goes on with an operation; or is the signal of a new one. */
export type Within = AbortSignal | Call;

/** What a read opens and shuts of a resource: names of relations, dotted for deeper ones. */
export interface Expansion {
  readonly include?: readonly string[];
  readonly exclude?: readonly string[];
}

/** How a change is sent. */
export interface BeforeSending {
  /** Awaited just before each request that changes something; what it throws ends the operation. */
  readonly beforeSending?: (() => Promise<void>) | undefined;
}

/** How a listing is read. */
export interface ListOptions {
  /** An incomplete listing is a failure, `PartialListing`, that holds what was seen. */
  readonly insist?: boolean;
}

/** Query parameters of one page. */
export const pagingOf = ({ pageSize }: { readonly pageSize: number }, page: number) => ({
  page: String(page),
  per_page: String(pageSize),
});

/** An id as part of a path. @throws {ApiError} InvalidArgument: nothing is sent. */
export function checkedId(call: Call, id: string): string {
  if (!isUuid(id)) throw call.error('InvalidArgument', 'the id is no lower-case UUID');
  return id;
}

/** `include` and `exclude` of a query; `always` is included whatever else is. */
export function expansionOf(
  { include = [], exclude = [] }: Expansion,
  always: readonly string[] = [],
): Record<string, string> {
  const included = [...new Set([...always, ...include])];
  return {
    ...(included.length > 0 && { include: included.join(',') }),
    ...(exclude.length > 0 && { exclude: exclude.join(',') }),
  };
}

/** Only the fields that are given; `undefined` is as good as absent. */
export function givenOf<T extends object>(fields: T): Partial<T> {
  const given = Object.entries(fields).filter(([, value]) => value !== undefined);
  return Object.fromEntries(given) as Partial<T>;
}

/**
 * The fields of the API's replies that we use; unknown ones are left out. Nulls are dropped before,
 * so a field is either there or missing.
 */
const uuid = z.string().refine(isUuid);
const text = z.string().optional();
const flag = z.boolean().optional();

/** A related object, expanded or as `href` only. */
const relation = z.object({ id: text, href: text });
export type Relation = z.infer<typeof relation>;

const coded = relation.extend({ code: text, name: text });
const facility = coded.extend({ metro: coded.optional() });
const slugged = z.object({ slug: text, name: text });

const ipAddress = z.object({
  id: text,
  address: z.string(),
  address_family: z.number(),
  public: flag,
  management: flag,
  cidr: z.number().optional(),
  gateway: text,
  netmask: text,
  network: text,
});
export type IpAddress = z.infer<typeof ipAddress>;

export const deviceEvent = z.object({
  /** Missing while the event is only expected. */
  id: text,
  type: text,
  body: text,
  created_at: text,
});
export type DeviceEvent = z.infer<typeof deviceEvent>;

export const device = z.object({
  id: uuid,
  short_id: text,
  href: text,
  hostname: text,
  description: text,
  state: text,
  tags: z.array(z.string()).default([]),
  created_at: text,
  updated_at: text,
  locked: flag,
  billing_cycle: text,
  user: text,
  provisioning_percentage: z.number().optional(),
  ip_addresses: z.array(ipAddress).default([]),
  facility: facility.optional(),
  metro: coded.optional(),
  plan: slugged.optional(),
  operating_system: slugged.optional(),
  project: relation.optional(),
  hardware_reservation: relation.optional(),
  provisioning_events: z.array(deviceEvent).optional(),
  /** Whatever its owner put there, only `ssh_port` is read. May hold secrets: never logged. */
  customdata: z.unknown().optional(),
});
export type Device = z.infer<typeof device>;

/** A device of a listing: ten thousand of them stay in memory, so without its history. */
const listedDevice = device.omit({ provisioning_events: true });

/** With the fields that can be written; `userdata` is a secret and goes no further than a look. */
export const writtenDevice = device.extend({ userdata: z.unknown().optional() });

export const reservation = z.object({
  id: uuid,
  short_id: text,
  provisionable: flag,
  spare: flag,
  need_of_service: flag,
  termination_time: text,
  created_at: text,
  switch_uuid: text,
  plan: slugged.optional(),
  facility: facility.optional(),
  project: relation.extend({ name: text }).optional(),
  /** An href, or with `include=device` the device. */
  device: z.union([listedDevice, relation]).optional(),
});
export type Reservation = z.infer<typeof reservation>;

export const sshKey = z.object({
  id: uuid,
  label: z.string(),
  key: z.string(),
  fingerprint: text,
  created_at: text,
  updated_at: text,
  href: text,
  /** Project or user it belongs to; both spellings are in use. */
  entity: relation.optional(),
  owner: relation.optional(),
  tags: z.array(z.string()).default([]),
});
export type SshKey = z.infer<typeof sshKey>;

/** Where in its listing a page stands. */
const meta = z
  .object({
    total: z.number(),
    current_page: z.number(),
    last_page: z.number(),
    /** Only whether it is there matters: it is never followed. */
    next: z.unknown().optional(),
  })
  .transform(({ total, current_page: number, last_page: last, next }) => ({
    total,
    number,
    isLast: next === undefined || number >= last,
  }));

const listOf = <T>(schema: z.ZodType<T>) => entriesOf(schema, namesOf).prefault([]);

const named = z.object({ id: uuid.optional().catch(undefined) });
const onReservation = z.object({ hardware_reservation: relation });
function namesOf(entry: unknown): Pick<Unread, 'id' | 'reservationId'> {
  const id = named.safeParse(entry).data?.id ?? null;
  return { id, reservationId: idOf(onReservation.safeParse(entry).data?.hardware_reservation) };
}

export const devicePage = z.object({ devices: listOf(listedDevice), meta });
export const reservationPage = z.object({ hardware_reservations: listOf(reservation), meta });
/** The newest events; servers that do not page them send no `meta`. */
export const events = z.object({ events: listOf(deviceEvent) });
export const sshKeyList = z.object({ ssh_keys: listOf(sshKey) });
/** Replies without content, whatever they hold. */
export const nothing = z.unknown().transform(() => undefined);

/** Id of a related object; an `href` is never followed, only its last part is read. */
export const idOf = (related: Relation | undefined): string | null =>
  related?.id ?? related?.href?.split(/[?#]/)[0]?.split('/').findLast(Boolean) ?? null;

/** A related device that came whole, not only as its address. */
export const isExpanded = (related: Device | Relation): related is Device =>
  'tags' in related && related.hostname !== undefined;

/** The reply about one thing that was asked for by its id: another one's is no answer. */
export const ofId = <T extends { readonly id: string }>(
  schema: z.ZodType<T>,
  id: string,
): z.ZodType<T> => schema.refine((found) => found.id === id, { path: ['id'] });

/** What is counted of this client alone. */
export type EquinixMetric = Extract<MetricName, `equinix_${string}`>;

export type EquinixDeps = Omit<ApiDeps, 'observer'> & {
  readonly metrics: MetricsOf<EquinixMetric>;
};

/** What is particular to the API of Equinix Metal. */
export function createEquinixApi(config: EquinixConfig, { metrics, ...deps }: EquinixDeps): Api {
  const { name, baseUrl, token, username, parallelism, apiRateMs, listingBytesMax } = config;
  return createApi(
    {
      name,
      baseUrl,
      token,
      headersFor: (key) => ({ 'X-Auth-Token': key, 'X-Consumer-Token': username }),
      endpointName,
      form: ANSWERS,
      limits: { maxConcurrency: parallelism, gapMs: apiRateMs },
      timings: timingsOf(config),
      ...(listingBytesMax !== undefined && { listingBytesMax }),
    },
    {
      ...deps,
      observer: {
        attempt: (endpoint, status_code, seconds) =>
          metrics.observe('equinix_api_latency', { endpoint, status_code }, seconds),
        slots(waiting, inFlight) {
          metrics.set('equinix_api_waiting', {}, waiting);
          metrics.set('equinix_api_in_flight', {}, inFlight);
        },
        retry: (endpoint, reason) =>
          metrics.count('equinix_api_retries_total', { endpoint, reason }),
        paused: (reason, seconds) =>
          metrics.count('equinix_api_paused_seconds_total', { reason }, seconds),
        walk: (list, isConsistent) =>
          metrics.count('equinix_listing_walks_total', {
            list,
            consistent: isConsistent ? 'true' : 'false',
          }),
      },
    },
  );
}

/** How the API says no: JSON with a list of texts, or with one. */
const errorBody = z.union([
  z.object({ errors: z.array(z.string()) }),
  z.object({ error: z.string() }).transform(({ error }) => ({ errors: [error] })),
]);
const CAPACITY = /hardware reservation|capacity|not enough|no provisionable/i;

export const ANSWERS: AnswerForm = {
  errorsIn: (json) => errorBody.safeParse(json).data?.errors ?? null,
  tellsAbsence: new Set([403, 404, 410]),
  kindOf({ endpoint, status, messages }) {
    const isCapacity = endpoint === 'CreateDevice' && status === 503;
    return isCapacity && messages.some((text) => CAPACITY.test(text)) ? 'Capacity' : undefined;
  },
};

const ENDPOINTS: readonly (readonly [methods: string, path: RegExp, name: string])[] = [
  ['GET', /^\/devices\/[^/]+$/, 'GetDevice'],
  ['PUT PATCH', /^\/devices\/[^/]+$/, 'UpdateDevice'],
  ['DELETE', /^\/devices\/[^/]+$/, 'DeleteDevice'],
  ['POST', /^\/devices\/[^/]+\/actions$/, 'PerformDeviceAction'],
  ['GET', /^\/devices\/[^/]+\/events$/, 'ListDeviceEvents'],
  ['GET', /^\/(projects|organizations)\/[^/]+\/devices$/, 'ListDevices'],
  ['POST', /^\/projects\/[^/]+\/devices$/, 'CreateDevice'],
  ['GET', /^\/projects\/[^/]+\/hardware-reservations$/, 'ListReservations'],
  ['GET', /^\/organizations\/[^/]+\/hardware-reservations$/, 'ListOrganizationReservations'],
  ['GET', /^\/hardware-reservations\/[^/]+$/, 'GetReservation'],
  ['POST', /^\/hardware-reservations\/[^/]+\/move$/, 'MoveReservation'],
  ['GET', /^\/projects\/[^/]+\/ssh-keys$/, 'ListProjectSSHKeys'],
  ['POST', /^(\/projects\/[^/]+)?\/ssh-keys$/, 'CreateSSHKey'],
  ['GET', /^\/ssh-keys\/[^/]+$/, 'GetSSHKey'],
  ['PATCH PUT', /^\/ssh-keys\/[^/]+$/, 'UpdateSSHKey'],
  ['DELETE', /^\/ssh-keys\/[^/]+$/, 'DeleteSSHKey'],
];

/** Name of a route for metrics and logs; `path` is below the base path, without query. */
export function endpointName(method: string, path: string): string | null {
  const found = ENDPOINTS.find(
    ([methods, at]) => methods.split(' ').includes(method) && at.test(path),
  );
  return found?.[2] ?? null;
}
