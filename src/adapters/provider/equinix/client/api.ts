import { z } from 'zod';
import type { MetricName, MetricsOf } from '../../../metrics/port.ts';
import { type Api, type ApiDeps, createApi } from '../../../http/api.ts';
import type { AnswerForm } from '../../../http/outcome.ts';
import { type EquinixConfig, timingsOf } from '../settings.ts';

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
