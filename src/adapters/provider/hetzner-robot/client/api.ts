import type { ApiDeps, ApiTerms, Exchange } from '../../../http/api.ts';
import { type Api, createApi } from '../../../http/api.ts';
import type { CallClassTerms } from '../../../http/call-classes.ts';
import { formBody } from '../../../http/encoding.ts';
import type { BudgetTerms } from '../../../kit/budget.ts';
import { ANSWERS } from './errors.ts';

const HOUR_MS = 3_600_000;
/** Of the vendor's limits we use so much: others may use the account too. */
const SHARE = 0.9;
/** Of the resets, for give-backs and what is forced. */
const RESETS_KEPT = 10;

/**
 * Robot's limits in an hour, by method and first part of the path. What lies below one path counts as
 * one: a list and a single server were found to share one count.
 */
const LIMITS: Readonly<Record<string, number>> = {
  'GET /server': 200,
  'POST /server': 200,
  'GET /reset': 500,
  'POST /reset': 50,
  'GET /boot': 500,
  'POST /boot': 500,
  'DELETE /boot': 500,
  'GET /key': 500,
  'POST /key': 200,
  'DELETE /key': 200,
};
export const CLASS_NAMES: readonly string[] = Object.keys(LIMITS);
export const RESET_CLASS = 'POST /reset';

/** What may be sent in an hour, of each class; `limits` are those that are other than documented. */
export const budgetsOf = (
  limits: Readonly<Record<string, number>>,
): ReadonlyMap<string, BudgetTerms> =>
  new Map(
    Object.entries({ ...LIMITS, ...limits }).map(([name, limit]) => [
      name,
      {
        startsMax: Math.floor(limit * SHARE),
        withinMs: HOUR_MS,
        ...(name === RESET_CLASS && { keptForUrgent: RESETS_KEPT }),
      },
    ]),
  );

const classesOf = (
  limits: Readonly<Record<string, number>>,
): Readonly<Record<string, CallClassTerms>> =>
  Object.fromEntries([...budgetsOf(limits)].map(([name, terms]) => [name, { budgets: [terms] }]));

export const classOf = ({ method, path }: Pick<Exchange, 'method' | 'path'>): string =>
  `${method} ${/^\/[a-z]+/.exec(path)?.[0] ?? ''}`;

const ENDPOINTS: readonly (readonly [path: RegExp, name: string])[] = [
  [/^\/server$/, 'Servers'],
  [/^\/server\/\d+$/, 'Server'],
  [/^\/reset\/\d+$/, 'Reset'],
  [/^\/boot\/\d+$/, 'Boot'],
  [/^\/boot\/\d+\/rescue$/, 'Rescue'],
  [/^\/boot\/\d+\/linux$/, 'Linux'],
  [/^\/key$/, 'Keys'],
  [/^\/key\/[0-9a-f:]+$/, 'Key'],
];

/** Name of a route for metrics and logs. */
export function endpointName(method: string, path: string): string | null {
  const found = ENDPOINTS.find(([at]) => at.test(path));
  return found ? `${method}${found[1]}` : null;
}

export const ROBOT_TIMINGS: ApiTerms['timings'] = {
  connectTimeoutMs: 10_000,
  attemptTimeoutMs: 60_000,
  listPageTimeoutMs: 60_000,
  operationTimeoutMs: 180_000,
  backoffInitialMs: 500,
  backoffMaximumMs: 30_000,
  // A wait is told to whoever asks, and not sat out: it may be an hour.
  pauseMaxMs: 0,
  // Three failed logins shut out our address for ten minutes.
  authPauseMs: 600_000,
};

/** What is particular to the web service of Robot. */
export interface RobotAccess {
  readonly name: string;
  readonly baseUrl: string;
  readonly user: string;
  /** Read before each attempt, so that a rotated password is picked up. Never logged. */
  readonly password: () => string;
  readonly timings?: Partial<ApiTerms['timings']>;
  /** Requests in an hour that are other than documented, by `CLASS_NAMES`. */
  readonly limits?: Readonly<Record<string, number>>;
}

export function createRobotApi(access: RobotAccess, deps: ApiDeps): Api {
  const { name, baseUrl, user, password, timings, limits = {} } = access;
  return createApi(
    {
      name,
      baseUrl,
      token: password,
      headersFor: (secret) => ({
        Authorization: `Basic ${Buffer.from(`${user}:${secret}`).toString('base64')}`,
      }),
      endpointName,
      form: ANSWERS,
      encoding: formBody('brackets'),
      limits: { maxConcurrency: 8, gapMs: 0 },
      classes: classesOf(limits),
      classOf,
      timings: { ...ROBOT_TIMINGS, ...timings },
      attemptsMax: 4,
    },
    deps,
  );
}
