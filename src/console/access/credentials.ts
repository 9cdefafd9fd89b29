import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { TLSSocket } from 'node:tls';
import type { FastifyReply, FastifyRequest } from 'fastify';

/** How cookies are set: over TLS with the strictest prefix, otherwise for plain loopback. */
export interface CookieRules {
  readonly isSecure: boolean;
}

/** Name of the session cookie. */
export const sessionCookie = ({ isSecure }: CookieRules): string =>
  isSecure ? '__Host-shepherd' : 'shepherd';

/** Name of the cookie that lasts from the redirect to the identity provider until the return. */
export const journeyCookie = ({ isSecure }: CookieRules): string =>
  isSecure ? '__Host-shepherd-login' : 'shepherd-login';

/** The value of a request's cookie; null: no cookie, or several, with this name. */
export function cookieOf({ headers }: Pick<FastifyRequest, 'headers'>, name: string) {
  const found = (headers.cookie ?? '')
    .split(';')
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(`${name}=`));
  return found.length === 1 ? found[0]!.slice(name.length + 1) : null;
}

/**
 * Sets a cookie, or deletes it if the value is null. Values are base64url and dots.
 * @param sameSite the return from an identity provider needs `Lax`.
 */
export function setCookie(
  reply: FastifyReply,
  { isSecure }: CookieRules,
  cookie: {
    readonly name: string;
    readonly value: string | null;
    readonly sameSite: 'Lax' | 'Strict';
    /** Absent: until the browser closes. */
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
 * The common name of the client's certificate, if an authority trusted by the console signed it;
 * null: no certificate, or not trusted.
 */
export function certificateName({ socket }: IncomingMessage): string | null {
  if (!(socket instanceof TLSSocket) || !socket.authorized) return null;
  const { subject } = socket.getPeerCertificate();
  const name: unknown = subject?.CN;
  return typeof name === 'string' && name !== '' ? name : null;
}

const SAFE: ReadonlySet<string> = new Set(['GET', 'HEAD']);

/** Whether a method is safe by its definition: it changes nothing. */
export const isSafeMethod = (method: string): boolean => SAFE.has(method);

export interface Approach {
  readonly headers: IncomingHttpHeaders;
  /** The origin to which the request was sent, such as `http://127.0.0.1:4243`. */
  readonly origin: string;
  /** Whether the request carries something that no browser adds for another site's page. */
  readonly isProgram: boolean;
}

/**
 * Says why a changing request may come from another site's page; null: it comes from our own page
 * or from a program. Browsers send `Sec-Fetch-Site`, over plain HTTP only `Origin`. A program sends
 * neither, but credentials that no browser adds by itself.
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

/** Whether a body has a type other than JSON; a form on any site can send such bodies. */
export function isForeignBody(headers: IncomingHttpHeaders): boolean {
  const type = headers['content-type'];
  if (type === undefined) return hasBody(headers);
  return !/^application\/json\s*(;|$)/i.test(type);
}

const hasBody = (headers: IncomingHttpHeaders): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
