import { z } from 'zod';
import { createApi, type Api } from '../../driver-kit/api.ts';
import type { ApiTimings } from '../../driver-kit/terms.ts';
import type { AnswerForm } from '../../driver-kit/outcome.ts';
import type { BalancerContext } from '../port.ts';
import type { Secret } from '../../../settings/secret.ts';
import type { Throttle } from './engine.ts';

export interface ApiSetup {
  readonly settings: { readonly baseUrl: string; readonly token: Secret };
  readonly context: BalancerContext;
  readonly throttle: Throttle;
  readonly timings?: Partial<ApiTimings>;
}

/** The Engine API's specifics. */
export function createEngineApi({ settings, context, throttle, timings = {} }: ApiSetup): Api {
  const { name, clock, random, log, metrics, userAgent, network } = context;
  const labelsOf = (endpoint: string) => ({ driver: 'anexia', lb: name, ...partsOf(endpoint) });
  return createApi(
    {
      name,
      baseUrl: settings.baseUrl,
      token: () => settings.token.read(),
      headersFor: (token) => ({ Authorization: `Token ${token}` }),
      endpointName: (method, path) => `${method} ${resourceOf(path)}`,
      form: ANSWERS,
      limits: { maxConcurrency: 4, gapMs: 0 },
      timings: { ...TIMINGS, ...timings },
      attemptsMax: 3,
      stayAwayMs: throttle.hold,
    },
    {
      clock,
      random,
      log,
      userAgent,
      network,
      observer: {
        starts: (endpoint) => metrics.count(IN_FLIGHT, labelsOf(endpoint)),
        attempt(endpoint, told) {
          const status = /^\d+$/.test(told) ? told : '-1';
          if (status.startsWith('2')) throttle.answered();
          const labels = labelsOf(endpoint);
          metrics.count(IN_FLIGHT, labels, -1);
          metrics.count('shepherd_lb_http_client_requests_total', { ...labels, status });
        },
      },
    },
  );
}

const IN_FLIGHT = 'shepherd_lb_http_client_requests_in_flight';

/** A read is sent at most three times; the caller retries for longer. */
const TIMINGS: ApiTimings = {
  connectTimeoutMs: 10_000,
  attemptTimeoutMs: 30_000,
  listPageTimeoutMs: 30_000,
  operationTimeoutMs: 100_000,
  backoffInitialMs: 500,
  backoffMaximumMs: 5_000,
  // The caller gets the wait, and decides what to do meanwhile.
  pauseMaxMs: 0,
  authPauseMs: 60_000,
};

const errorBody = z.object({
  error: z.object({
    code: z.union([z.number(), z.string()]).nullish(),
    message: z.string().nullish(),
    validation: z.record(z.string(), z.unknown()).nullish(),
  }),
});

export const ANSWERS: AnswerForm = {
  errorsIn(json) {
    const error = errorBody.safeParse(json).data?.error;
    if (!error) return null;
    const fields = Object.entries(error.validation ?? {});
    return [
      ...(error.message ? [error.message] : []),
      ...fields.map(([field, told]) => `${field}: ${textOf(told)}`),
    ];
  },
  tellsAbsence: new Set([404]),
  untypedIsJson: true,
};

const textOf = (told: unknown): string => (typeof told === 'string' ? told : JSON.stringify(told));

/** The path without `/api/` and ids, such as `LBaaS/v1/backend.json`. */
const resourceOf = (path: string): string =>
  path.replace(/^\/api\//, '').replace(/\.json\/[^/]+(\/tags)?.*$/, '.json$1');

function partsOf(endpoint: string) {
  const [method = '', resource = ''] = endpoint.split(' ');
  return { method, resource };
}
