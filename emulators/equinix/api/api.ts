import { type EmulatedApi, jsonOf, type Occasion, ApiRefusal } from '../../kit/api.ts';
import type { CommonEffect } from '../../kit/faults.ts';
import { type HttpResult, textOf } from '../../kit/outcome.ts';
import { isSameSecret } from '../../kit/same-secret.ts';
import { exchanges, type Exchange } from '../exchanges.ts';
import type { FaultEffect } from '../fault-rules.ts';
import type { ApiToken } from '../state/state.ts';
import { accountRoutes } from './account.ts';
import { type ApiRoute, type EquinixCall, errorBody, invalid } from './call.ts';
import { deviceRoutes, type RouteDeps } from './devices.ts';
import { keyRoutes } from './keys.ts';
import { createLists } from './lists.ts';
import { reservationRoutes } from './reservations.ts';
import { createViews } from './views.ts';

export interface ApiOptions {
  /** Base URL of the API. */
  readonly base: string;
  /** Resolves when the state is stored. */
  readonly save: () => Promise<void>;
  /** Device states set by hand. */
  readonly forcedStates: ReadonlySet<string>;
}

type EquinixOccasion = Occasion<FaultEffect | CommonEffect>;

/** The Equinix Metal API, as the kit serves it. */
export function equinixApi(
  { core, lifecycle }: Pick<RouteDeps, 'core' | 'lifecycle'>,
  { base, save, forcedStates }: ApiOptions,
): EmulatedApi<EquinixCall, FaultEffect | CommonEffect> {
  const { state } = core;
  const deps = { core, lifecycle, views: createViews(core), page: createLists(core) };
  const routes = [deviceRoutes, reservationRoutes, keyRoutes, accountRoutes].flatMap((of) =>
    of(deps),
  );
  /** Stores a change before the answer. */
  const stored = (route: ApiRoute) => ({
    ...route,
    async handle(call: EquinixCall) {
      const answer = route.handle(call);
      await save();
      return answer;
    },
  });

  /** @throws {ApiRefusal} 401 without a token, or with one that is unknown or revoked. */
  const tokenOf = (occasion: EquinixOccasion): ApiToken => {
    const shown = shownToken(occasion);
    const token = state.tokens.find((one) => isSameSecret(one.value, shown));
    if (token && occasion.strike('tokenRevoked')) {
      token.revoked = true;
      core.changed();
    }
    if (!token || token.revoked)
      throw new ApiRefusal(401, { error: 'Invalid authentication token' });
    return token;
  };

  return {
    ...{ name: 'The emulator of Equinix', base },
    routes: routes.map((route) => (route.method === 'GET' ? route : stored(route))),
    subject: ({ route, params }) => ({
      deviceId: route.startsWith('/devices/') ? params['id'] : undefined,
    }),
    call: (occasion) => ({
      ...{ method: occasion.method, path: occasion.path, params: occasion.params },
      ...{ query: occasion.query, strike: occasion.strike, token: tokenOf(occasion) },
      input: occasion.method === 'GET' ? {} : inputOf(occasion),
      lag: lagOf(occasion),
    }),
    login: shownToken,
    tellsRate: true,
    errorBody: (_status, message) => errorBody(message),
    told(occasion, outcome) {
      if (exchanges.hasSubscribers) {
        const { method, route } = occasion;
        const isServed = routes.some((one) => one.path === route && one.method === method);
        exchanges.publish(exchangeOf(occasion, outcome, { isServed, forcedStates }));
      }
      if (outcome.fate === undefined || !isCreate(occasion)) return;
      const isLate = ({ when }: { when: string }) => when === 'afterLostReply';
      const wanted = Object(parsed(occasion.text)) as { hardware_reservation_id?: unknown };
      const reservation = state.reservations.get(String(wanted.hardware_reservation_id));
      if (reservation && occasion.strike('race', isLate)) lifecycle.snatch(reservation);
    },
  };
}

const shownToken = ({ headers }: Pick<EquinixOccasion, 'headers'>): string => {
  const shown = headers['x-auth-token'];
  return typeof shown === 'string' ? shown : '';
};

const isCreate = ({ method, route }: EquinixOccasion): boolean =>
  method === 'POST' && route === '/projects/{id}/devices';

/**
 * A change's input: the body, completed by the query. The service accepted both, and one of its
 * clients sends actions entirely in the query.
 */
function inputOf(occasion: EquinixOccasion): Record<string, unknown> {
  const body = jsonOf(occasion, (_status, message) => errorBody(message), /^/) ?? {};
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw invalid('The request body must be an object');
  }
  return { ...Object.fromEntries(occasion.query), ...body };
}

function lagOf({ method, route, strikeAll }: EquinixOccasion): EquinixCall['lag'] {
  if (method !== 'GET') return { deviceMs: 0, reservationMs: 0 };
  const view = route.endsWith('/{id}') ? 'single' : 'list';
  const rules = strikeAll(['stale'], (effect) => effect.view === 'both' || effect.view === view);
  const lag = (resource: 'device' | 'reservation') => {
    const fitting = rules.filter(
      (rule) => (rule.resource ?? 'all') === 'all' || rule.resource === resource,
    );
    return Math.max(0, ...fitting.map(({ lagMs }) => lagMs));
  };
  return { deviceMs: lag('device'), reservationMs: lag('reservation') };
}

function exchangeOf(
  { method, route, path, query, text, headers }: EquinixOccasion,
  outcome: HttpResult,
  { isServed, forcedStates }: { isServed: boolean; forcedStates: ReadonlySet<string> },
): Exchange {
  return {
    ...{ method, path, query: Object.fromEntries(query), forcedStates },
    route: isServed ? route : null,
    body: text.trim() === '' ? undefined : parsed(text),
    userAgent: headers['user-agent'] ?? '',
    status: outcome.status,
    reply: textOf(outcome.body),
    isInjected: outcome.isInjected === true,
  };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return '(not JSON)';
  }
}
