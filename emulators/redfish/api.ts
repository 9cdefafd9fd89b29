import { maskSecrets } from '../kit/journal.ts';
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { type EmulatedApi, jsonOf, type Occasion, ApiRefusal } from '../kit/api.ts';
import type { RedfishCall, Rack } from './core.ts';
import type { FaultEffect } from './faults.ts';
import { errorBody, type MessageName, refusal } from './messages.ts';
import { routesOf } from './resources/resources.ts';
import { liveSessions, requireCredentials, SESSIONS } from './resources/sessions.ts';
import { ROOT } from './resources/views.ts';
import type { Bmc } from './world.ts';

/** Without a login. */
const OPEN: readonly string[] = [`GET ${ROOT}`, `POST ${SESSIONS}`];
const NAMES: Readonly<Record<number, MessageName>> = {
  400: 'MalformedJSON',
  404: 'ResourceMissingAtURI',
  405: 'OperationNotAllowed',
  500: 'InternalError',
};

/** Request handling of BMCs. @param bmcOf the BMC whose port a request used. */
export function apiOf(
  rack: Rack,
  bmcOf: (request: IncomingMessage) => Bmc,
): EmulatedApi<RedfishCall, FaultEffect> {
  const { clock, vendor } = rack;
  const messagesFor = (status: number, message: string) =>
    errorBody([{ name: NAMES[status] ?? 'GeneralError', args: [message] }]);
  return {
    name: 'The emulator of Redfish',
    routes: routesOf(rack),
    headers: { 'odata-version': '4.0', 'cache-control': 'no-cache' },
    errorBody: messagesFor,
    /** A medium's address may contain a login or token. */
    masked: (body) =>
      JSON.parse(JSON.stringify(maskSecrets(body)), (key, value: unknown) =>
        key === 'Image' && typeof value === 'string'
          ? value.replace(/\/\/[^/@]*@/, '//***@').replace(/\?.*/, '?***')
          : value,
      ) as unknown,
    noted: ({ headers, raw }) => ({ bmc: bmcOf(raw).name, auth: schemeOf(headers) }),
    subject({ params, raw }) {
      const bmc = bmcOf(raw);
      const [only, ...others] = bmc.systems;
      const found = bmc.systems.find(({ id }) => id === params['system']);
      const system = found ?? (others.length === 0 ? only : undefined);
      return { bmc: bmc.name, system: system?.name };
    },
    arrive({ method, path, rawQuery, raw }) {
      const bmc = bmcOf(raw);
      if (isAway(bmc, clock.now())) return { status: 0, fate: 'dropped' };
      if (bmc.isHanging && method === 'GET') return { status: 0, fate: 'hung' };
      if (!vendor.trailingSlash || path.endsWith('/')) return undefined;
      const location = `${path}/${rawQuery === '' ? '' : `?${rawQuery}`}`;
      return { status: 308, headers: { location } };
    },
    admit(occasion) {
      const { method, route, headers, strike } = occasion;
      const bmc = bmcOf(occasion.raw);
      const isPlain = method === 'GET' && headers['accept-encoding'] === 'identity';
      if (isPlain && strike('identityRefused')) throw refusal(406, 'GeneralError');
      if (!OPEN.includes(`${method} ${route}`)) requireLogin(rack, bmc, occasion);
      refuseWhileStarting(bmc, route, clock.now());
    },
    call(occasion) {
      const { params, headers, strike } = occasion;
      const offMs = strike('clock')?.offMs ?? 0;
      return {
        ...{ params, headers, strike, bmc: bmcOf(occasion.raw) },
        path: occasion.path.replace(/\/$/, ''),
        body: jsonOf(occasion, messagesFor),
        time: (atMs) => new Date(atMs + offMs).toISOString(),
        link: (path) => (vendor.trailingSlash || path === ROOT ? `${path}/` : path),
      };
    },
  };
}

/** A request's login scheme. A token precedes a password. */
function schemeOf(headers: IncomingHttpHeaders): 'none' | 'basic' | 'session' {
  if (headers['x-auth-token'] !== undefined) return 'session';
  return /^basic /i.test(headers.authorization ?? '') ? 'basic' : 'none';
}

/** @throws {ApiRefusal} 401. */
function requireLogin(
  rack: Rack,
  bmc: Bmc,
  { headers, path }: Pick<Occasion<FaultEffect>, 'headers' | 'path'>,
): void {
  const scheme = schemeOf(headers);
  if (scheme === 'basic') {
    const encoded = (headers.authorization ?? '').slice('basic '.length).trim();
    const [username = '', ...rest] = Buffer.from(encoded, 'base64').toString().split(':');
    requireCredentials(rack, path, { username, password: rest.join(':') });
    return;
  }
  const nowMs = rack.clock.now();
  const session = [...liveSessions(bmc, nowMs).values()].find(
    ({ token }) => token === headers['x-auth-token'],
  );
  if (!session) throw refusal(401, 'NoValidSession');
  session.usedMs = nowMs;
}

/** A restarting BMC: nobody answers. */
export const isAway = ({ restart }: Bmc, nowMs: number): boolean =>
  restart !== null && nowMs < restart.deafUntilMs;

/** A starting BMC serves only its root at first, without systems. @throws {ApiRefusal} 404, 503. */
function refuseWhileStarting(bmc: Bmc, route: string, nowMs: number): void {
  if (!bmc.restart || nowMs >= bmc.restart.doneAtMs || route === ROOT) return;
  if (route.startsWith(`${ROOT}/Systems`)) throw refusal(404, 'ResourceMissingAtURI', route);
  const body = errorBody([{ name: 'ServiceTemporarilyUnavailable', args: ['10'] }]);
  throw new ApiRefusal(503, body, { 'retry-after': '10' });
}
