import type { IncomingHttpHeaders } from 'node:http';
import { isIP, type Socket } from 'node:net';
import type { FastifyInstance, FastifyReply, FastifyRequest, RouteOptions } from 'fastify';
import { createHostCheck } from '../lib/network.ts';
import type { Access } from './access/access.ts';
import { ANONYMOUS, type Person, type Right } from './access/port.ts';
import { mayDo, roleFor } from './access/rights.ts';
import {
  crossSiteReason,
  isForeignBody,
  isSafeMethod,
  certificateName,
} from './access/credentials.ts';
import { sendProblem } from './api/failures.ts';
import { Problem } from './api/problem.ts';

export interface GateOptions {
  /** Listen address of the console. */
  readonly host: string;
  /** Further Host names of the console, such as that of a reverse proxy. */
  readonly allowedHosts: readonly string[];
  /** Address for browsers, such as `https://fleet.example.org`; null: as they request it. */
  readonly origin: string | null;
  /** Whether browsers use TLS, here or at a proxy. */
  readonly isSecure: boolean;
  readonly access: Access;
  /** A request on this connection was admitted. */
  letIn(socket: Socket): void;
}

/** Only our own files, no inline code, no framing; strings never become HTML. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ');

const HEADERS = {
  'content-security-policy': CONTENT_SECURITY_POLICY,
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'cache-control': 'no-store',
} as const;

/** Makes browsers use only TLS from then on. */
const STRICT_TRANSPORT = { 'strict-transport-security': 'max-age=31536000' } as const;

export const isLoopback = (host: string): boolean =>
  host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'));

/**
 * Adds the checks before every route: Host (DNS rebinding), origin of changing requests, caller,
 * right; and safe headers on every answer. Call it before adding any route.
 */
export function addGate(app: FastifyInstance, options: GateOptions): void {
  const { access, isSecure } = options;
  const hostAllowed = createHostCheck([options.host, ...options.allowedHosts]);
  const headers = { ...HEADERS, ...(isSecure && STRICT_TRANSPORT) };
  app.decorateRequest('person');
  app.addHook('onRoute', requireRightOf);
  app.addHook('onRequest', async (request, reply) => {
    reply.headers(headers);
    request.person = ANONYMOUS;
    const isChange = !isSafeMethod(request.method);
    if (request.is404 && isChange) return refuseMethod(request, reply);
    if (!hostAllowed(request.headers.host)) return sendProblem(request, reply, wrongHost());
    const right = rightOf(request);
    const isMetrics = request.routeOptions.url === '/metrics';
    try {
      if (isChange) requireOwnPage(request, right, options);
      if (right === 'open') return undefined;
      request.person = await access.find(request, { isMetrics });
      requireRight(request.person, right);
      const isByCookie = request.person.via === 'cookie';
      if (isChange && isByCookie && request.routeOptions.config.isByCookieAlone !== true) {
        await access.requireOwnPage(request);
      }
      options.letIn(request.socket);
    } catch (error) {
      if (!isUnknown(error)) throw error;
      // Never an address chosen by the caller: `login.js` knows where `device` leads.
      const [path] = request.url.split('?', 1);
      if (isVisit(request))
        return reply.redirect(path === '/device' ? '/login?to=device' : '/login');
      reply.header('www-authenticate', schemesFor(request));
      throw error;
    }
    return undefined;
  });
}

const isUnknown = (error: unknown): error is Problem =>
  error instanceof Problem && error.code === 'not-signed-in';

/** A person who opens a page is redirected to the login. */
const isVisit = ({ method, url, headers }: FastifyRequest): boolean =>
  method === 'GET' &&
  headers.authorization === undefined &&
  !url.startsWith('/api/') &&
  (headers.accept ?? '').includes('text/html');

/** A browser would open its own password dialog in the page if Basic were offered. */
const schemesFor = ({ headers }: FastifyRequest): string[] => [
  'Bearer realm="shepherd"',
  ...(headers['sec-fetch-mode'] === undefined ? ['Basic realm="shepherd"'] : []),
];

const rightOf = ({ routeOptions }: FastifyRequest) => routeOptions.config?.right ?? 'see';

/** A changing route without a declared right must never be reachable. */
function requireRightOf({ method, url, config }: RouteOptions): void {
  const changing = [method].flat().filter((each) => !isSafeMethod(each));
  if (changing.length === 0 || config?.right !== undefined) return;
  throw new Error(`route ${changing.join(', ')} ${url} does not declare the required right`);
}

/** @throws {Problem} a page of another site, or a program without a login, may have sent it. */
function requireOwnPage(
  request: FastifyRequest,
  right: Right | 'open',
  options: GateOptions,
): void {
  const { headers } = request;
  const origin = options.origin ?? `${request.protocol}://${headers.host ?? ''}`;
  const isBearer = /^bearer /i.test(headers.authorization ?? '');
  const isProgram = isBearer || certificateName(request.raw) !== null;
  const foreign = isForeignBody(headers) ? 'its body is not application/json' : null;
  const reason = crossSiteReason({ headers, origin, isProgram }) ?? foreign;
  if (reason === null) return;
  if (right !== 'open' && showsNothing(headers)) throw new Problem('not-signed-in', NOBODY);
  throw new Problem('not-allowed', `The request is refused, because ${reason}`);
}

const NOBODY = 'Nobody is logged in';

/** A request without anything that a browser adds and without credentials: a program sent it. */
const showsNothing = ({ authorization, cookie, origin, ...rest }: IncomingHttpHeaders): boolean =>
  [authorization, cookie, origin, rest['sec-fetch-site']].every((each) => each === undefined);

/** @throws {Problem} this person lacks the right, or nobody has logged in. */
export function requireRight(person: Person, right: Right): void {
  if (mayDo(person, right)) return;
  const { name, role, providers, via } = person;
  if (via === 'none') throw new Problem('not-signed-in', NOBODY);
  const isLimited = mayDo({ role, providers: null }, right);
  const why = isLimited
    ? `${name} may act on ${providers?.join(', ')} only; this concerns the whole fleet`
    : `${name} has the role ${role}; this needs the role ${roleFor(right)}`;
  throw new Problem('not-allowed', why);
}

const refuseMethod = (request: FastifyRequest, reply: FastifyReply) =>
  sendProblem(
    request,
    reply.header('allow', 'GET, HEAD'),
    new Problem('method-not-allowed', 'This path accepts no changes'),
  );

const wrongHost = () =>
  new Problem(
    'wrong-host',
    'The console does not answer under this name: add it to console.allowedHosts, or use another',
  );
