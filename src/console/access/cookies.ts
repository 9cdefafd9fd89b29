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
