import { createHash, timingSafeEqual } from 'node:crypto';
import { isIP } from 'node:net';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Clock } from '../adapters/clock/port.ts';
import type { Log } from '../adapters/log/port.ts';
import { UsageError } from '../domain/errors.ts';
import { createHostCheck } from '../domain/host-header.ts';
import { createGuesses } from './guesses.ts';

export interface GateOptions {
  /** Address the console listens on. */
  readonly host: string;
  /** Further names under which the console may be asked for, e.g. that of a reverse proxy. */
  readonly allowedHosts: readonly string[];
  /** When set, every route but `/livez` demands it. */
  readonly token: string | null;
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly log: Log;
}

/** Nothing but our own files, no inline code, no framing; strings become HTML nowhere. */
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

export const isLoopback = (host: string): boolean =>
  host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'));

/**
 * The fleet is shown to this machine only, unless a token guards it.
 * @throws {UsageError} when it would be open to the network.
 */
export function requireSafeListen({ host, token }: Pick<GateOptions, 'host' | 'token'>): void {
  if (isLoopback(host) || token !== null) return;
  throw new UsageError(
    `console: listening on ${host || 'every address'} would show the fleet to the network: ` +
      'set a token for the console, or listen on 127.0.0.1',
  );
}

/** Puts the checks before every route: method, Host (DNS rebinding), token; and safe headers. */
export function addGate(app: FastifyInstance, options: GateOptions): void {
  const { log } = options;
  const guesses = createGuesses(options.clock);
  const hostAllowed = createHostCheck([options.host, ...options.allowedHosts]);
  const tokenAccepted = tokenCheck(options.token);
  app.addHook('onRequest', async (request, reply) => {
    reply.headers(HEADERS);
    if (request.method !== 'GET' && request.method !== 'HEAD') return refuseMethod(reply);
    if (!hostAllowed(request.headers.host)) return refuseHost(reply);
    if (request.url === '/livez' || options.token === null) return undefined;
    // Who shows no token guesses none: so begins every browser.
    if (request.headers.authorization === undefined) return refuseToken(reply);
    const seconds = guesses.waitSeconds(request.ip);
    // The right one is not looked at either, or the answer would still tell which it is.
    if (seconds > 0) return refuseGuess(reply, seconds);
    if (tokenAccepted(request)) return undefined;
    if (guesses.wrong(request.ip, digest(request.headers.authorization).toString('hex'))) {
      log.warn({ address: request.ip }, 'many wrong tokens for the console; none is looked at now');
    }
    return refuseToken(reply);
  });
}

const refuseMethod = (reply: FastifyReply) =>
  reply.code(405).header('allow', 'GET, HEAD').send(problem('read-only', 'The console only shows'));

const refuseHost = (reply: FastifyReply) =>
  reply
    .code(421)
    .send(
      problem(
        'wrong-host',
        'The console does not answer under this name: console.allowedHosts lists those that it does',
      ),
    );

/** Basic is offered too: it is how a browser asks a person for the token (any user name). */
const refuseToken = (reply: FastifyReply) =>
  reply
    .code(401)
    .header('www-authenticate', ['Bearer realm="shepherd"', 'Basic realm="shepherd"'])
    .send(problem('denied', 'This console needs a token'));

const refuseGuess = (reply: FastifyReply, seconds: number) =>
  reply
    .code(429)
    .header('retry-after', String(seconds))
    .send(problem('limited', `Too many wrong tokens from this address: wait ${seconds} s`));

/** The form of every error answer. */
export const problem = (code: string, message: string) => ({ error: { code, message } });

function tokenCheck(token: string | null): (request: FastifyRequest) => boolean {
  const expected = digest(token ?? '');
  return (request) => timingSafeEqual(digest(presented(request.headers.authorization)), expected);
}

const digest = (text: string) => createHash('sha256').update(text).digest();

/** The token of an Authorization header: a bearer token, or the password of basic credentials. */
function presented(header: string | undefined): string {
  const [scheme = '', value = ''] = (header ?? '').split(' ', 2);
  if (scheme.toLowerCase() === 'bearer') return value;
  if (scheme.toLowerCase() !== 'basic') return '';
  const pair = Buffer.from(value, 'base64').toString('utf8');
  return pair.slice(pair.indexOf(':') + 1);
}
