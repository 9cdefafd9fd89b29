import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { TLSSocket } from 'node:tls';
import type { FastifyReply, FastifyRequest } from 'fastify';

/** How cookies are set: over TLS with the strictest prefix there is, else on plain loopback. */
export interface CookieRules {
  readonly isSecure: boolean;
}

/** Name of the cookie that a session is known by. */
export const sessionCookie = ({ isSecure }: CookieRules): string =>
  isSecure ? '__Host-shepherd' : 'shepherd';

/** Name of the cookie that lasts from the way to the provider of identities until the way back. */
export const journeyCookie = ({ isSecure }: CookieRules): string =>
  isSecure ? '__Host-shepherd-login' : 'shepherd-login';

/** The value of a cookie that came with a request; null: none, or several of this name. */
export function cookieOf({ headers }: Pick<FastifyRequest, 'headers'>, name: string) {
  const found = (headers.cookie ?? '')
    .split(';')
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(`${name}=`));
  return found.length === 1 ? found[0]!.slice(name.length + 1) : null;
}

/**
 * Sets a cookie of ours, or takes it back where the value is null. Its value is base64url, and dots.
 * @param sameSite the way back from a provider of identities needs `Lax`.
 */
export function setCookie(
  reply: FastifyReply,
  { isSecure }: CookieRules,
  cookie: {
    readonly name: string;
    readonly value: string | null;
    readonly sameSite: 'Lax' | 'Strict';
    /** Absent: as long as the browser is open. */
    readonly forMs?: number;
  },
): void {
  const { name, value, sameSite, forMs } = cookie;
  const parts = [`${name}=${value ?? ''}`, 'Path=/', 'HttpOnly', `SameSite=${sameSite}`];
  if (isSecure) parts.push('Secure');
  const lastsMs = value === null ? 0 : forMs;
  if (lastsMs !== undefined) parts.push(`Max-Age=${Math.round(lastsMs / 1_000)}`);
  const before = reply.getHeader('set-cookie');
  const all = [before ?? []].flat().map(String);
  reply.header('set-cookie', [...all, parts.join('; ')]);
}

/**
 * The common name of the certificate that a client proved to have, signed by an authority that the
 * console trusts; null: there is none, or it is not to be trusted.
 */
export function certificateName({ socket }: IncomingMessage): string | null {
  if (!(socket instanceof TLSSocket) || !socket.authorized) return null;
  const { subject } = socket.getPeerCertificate();
  const name: unknown = subject?.CN;
  return typeof name === 'string' && name !== '' ? name : null;
}

const SAFE: ReadonlySet<string> = new Set(['GET', 'HEAD']);

/** Whether a method, by its definition, changes nothing. */
export const isSafeMethod = (method: string): boolean => SAFE.has(method);

export interface Approach {
  readonly headers: IncomingHttpHeaders;
  /** The origin under which the console was asked, such as `http://127.0.0.1:4243`. */
  readonly origin: string;
  /** Whether something was shown that no browser adds by itself to what a page of another site sends. */
  readonly isProgram: boolean;
}

/**
 * Says why a request that changes something may not be believed to come from our own page or from a
 * program; null: it may. A browser tells where a request comes from by `Sec-Fetch-Site`, over plain
 * HTTP by `Origin` only. A program tells neither, but shows what no browser adds by itself.
 */
export function crossSiteReason({ headers, origin, isProgram }: Approach): string | null {
  const site = headers['sec-fetch-site'];
  if (site !== undefined) {
    return site === 'same-origin' ? null : 'it was sent by a page of another site';
  }
  if (headers.origin !== undefined) {
    return headers.origin === origin ? null : 'it was sent by a page of another origin';
  }
  if (isProgram) return null;
  return 'it does not say which page sent it: Sec-Fetch-Site and Origin are both missing';
}

/** Whether a body is announced as something other than JSON; a form of any site can send those. */
export function isForeignBody(headers: IncomingHttpHeaders): boolean {
  const type = headers['content-type'];
  if (type === undefined) return hasBody(headers);
  return !/^application\/json\s*(;|$)/i.test(type);
}

const hasBody = (headers: IncomingHttpHeaders): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
