import { z } from 'zod';
import { UsageError } from '../../../domain/errors.ts';
import { isUuid } from '../../../domain/ids.ts';
import { createApi, type Api } from '../../driver-kit/api.ts';
import { baseUrlFault } from '../../driver-kit/errors.ts';
import type { ApiDeps } from '../../driver-kit/terms.ts';
import type { AnswerForm } from '../../driver-kit/outcome.ts';
import { entriesOf, type ListingPage, type Unread } from '../../driver-kit/pages.ts';
import type { MetricName, MetricsOf } from '../../metrics/port.ts';
import { timingsOf, type EquinixConfig } from './settings.ts';

/**
 * Fields of the API's replies that we use; unknown ones are dropped. Nulls are removed before, so a
 * field is either set or missing.
 */
const uuid = z.string().refine(isUuid);
const text = z.string().optional();
const flag = z.boolean().optional();

/** A related object, either complete or as `href` only. */
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
  /** Missing while the event is still expected. */
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
  /** Owner's data; only `ssh_port` is read. May hold secrets: never logged. */
  customdata: z.unknown().optional(),
});
export type Device = z.infer<typeof device>;

/** A device in a listing, without its history, because ten thousand of them stay in memory. */
const listedDevice = device.omit({ provisioning_events: true });

/** With the writable fields; `userdata` is secret and only compared. */
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
  /** An href, or the device with `include=device`. */
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
  /** Owning project or user; the API uses both spellings. */
  entity: relation.optional(),
  owner: relation.optional(),
  tags: z.array(z.string()).default([]),
});
export type SshKey = z.infer<typeof sshKey>;

/** Position of a page in its listing. */
const meta = z
  .object({
    total: z.number(),
    current_page: z.number(),
    last_page: z.number(),
    /** Only its presence matters; the URL is never followed. */
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

export const devicePage: z.ZodType<ListingPage<Device>> = z
  .object({ devices: listOf(listedDevice), meta })
  .transform(({ devices, meta: place }) => ({ ...devices, ...place }));
export const reservationPage: z.ZodType<ListingPage<Reservation>> = z
  .object({ hardware_reservations: listOf(reservation), meta })
  .transform(({ hardware_reservations: items, meta: place }) => ({ ...items, ...place }));
/** The newest events; servers without paging send no `meta`. */
export const events = z.object({ events: listOf(deviceEvent) });
export const sshKeyList = z.object({ ssh_keys: listOf(sshKey) });
/** Replies whose content does not matter. */
export const nothing = z.unknown().transform(() => undefined);

/** Id of a related object; an `href` is not followed, only its last part is used. */
export const idOf = (related: Relation | undefined): string | null =>
  related?.id ?? related?.href?.split(/[?#]/)[0]?.split('/').findLast(Boolean) ?? null;

/** True if the related device is complete, not only a reference. */
export const isExpanded = (related: Device | Relation): related is Device =>
  'tags' in related && related.hostname !== undefined;

/** Reply about the object with the requested id; a reply about another one is rejected. */
export const ofId = <T extends { readonly id: string }>(
  schema: z.ZodType<T>,
  id: string,
): z.ZodType<T> => schema.refine((found) => found.id === id, { path: ['id'] });

/** Metrics of this client only. */
export type EquinixMetric = Extract<MetricName, `equinix_${string}`>;

export type EquinixDeps = Omit<ApiDeps, 'observer'> & {
  readonly metrics: MetricsOf<EquinixMetric>;
};

/** The Equinix Metal API's specifics. @throws {UsageError} the token would be sent unencrypted. */
export function createEquinixApi(config: EquinixConfig, { metrics, ...deps }: EquinixDeps): Api {
  const fault = baseUrlFault(config.baseUrl, config.allowInsecureHttp);
  if (fault) throw new UsageError(`provider ${config.name}: baseUrl ${fault}`);
  const { name, baseUrl, token, username, parallelism, apiRate, listingBytesMax } = config;
  return createApi(
    {
      name,
      baseUrl,
      token,
      headersFor: (key) => ({ 'X-Auth-Token': key, 'X-Consumer-Token': username }),
      endpointName,
      form: ANSWERS,
      limits: { maxConcurrency: parallelism, gapMs: apiRate },
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

/** Error replies: JSON with a list of texts, or one text. */
const errorBody = z.union([
  z.object({ errors: z.array(z.string()) }),
  z.object({ error: z.string() }).transform(({ error }) => ({ errors: [error] })),
]);
const CAPACITY = /hardware reservation|capacity|not enough|no provisionable/i;
/** Undocumented texts with which the server reports that the account's quota is used up. */
const QUOTA = new RegExp(
  [
    /\bquota\b/,
    /\b(device|instance|server|project|account)s? limit\b/,
    /maximum number of (\w+ )?(device|instance|server|machine)s?\b/,
  ]
    .map(({ source }) => source)
    .join('|'),
  'i',
);
/** Statuses that have another meaning. */
const NO_QUOTA: ReadonlySet<number> = new Set([401, 404, 408, 425]);

export const ANSWERS: AnswerForm = {
  errorsIn: (json) => errorBody.safeParse(json).data?.errors ?? null,
  tellsAbsence: new Set([403, 404, 410]),
  meaningOf({ endpoint, status, messages }) {
    if (endpoint !== 'CreateDevice') return undefined;
    const says = (what: RegExp) => messages.some((text) => what.test(text));
    if (status === 503 && says(CAPACITY)) return { kind: 'transient', capacity: { scope: 'plan' } };
    // The refusal does not concern the reservation.
    const isRefused = status < 500 && !NO_QUOTA.has(status);
    return isRefused && says(QUOTA) ? { kind: 'transient', quota: true } : undefined;
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

/** Route name for metrics and logs; `path` is below the base path, without a query. */
export function endpointName(method: string, path: string): string | null {
  const found = ENDPOINTS.find(
    ([methods, at]) => methods.split(' ').includes(method) && at.test(path),
  );
  return found?.[2] ?? null;
}
