import type { Role } from '../../domain/access.ts';

export { ROLES, type Role } from '../../domain/access.ts';

/**
 * What a route, or a verb in a request, demands. `see`: any page or answer. `operate`: what a machine
 * survives. `destroy`: what erases data or gives something up. `administer`: access, webhooks and daemons,
 * for the whole fleet alone.
 */
export const RIGHTS = ['see', 'operate', 'destroy', 'administer'] as const;
export type Right = (typeof RIGHTS)[number];

/** Who asks, as far as it was found out. */
export interface Person {
  /**
   * As written into the audit: `oidc:ann@example.org`, `token:ci` (made here), `config:ci` (a token of
   * the configuration), `mtls:CN=ann`, `anonymous`.
   */
  readonly name: string;
  /**
   * Never that of another caller, even if the names are equal: a name is free again once its token is
   * revoked, and a provider of identities may give an address to somebody else.
   */
  readonly identity: string;
  readonly role: Role;
  /** Where anything may be done; null: everywhere. To see is not limited. */
  readonly providers: readonly string[] | null;
  /** What was shown: nothing, a token in the header, the cookie of a session, a client's certificate. */
  readonly via: 'none' | 'token' | 'cookie' | 'certificate';
  /** The token of the database that was shown; absent: none of them was. */
  readonly tokenId?: string;
  /** The session whose cookie was shown; absent: none was. */
  readonly sessionId?: string;
  /** How many tokens and logins the caller comes from, its own included; absent: none. */
  readonly generation?: number;
  /** Whether the name was proven; else it is a claim. */
  readonly proven: boolean;
}

/** On loopback, where nobody has logged in: sees, and does nothing. */
export const ANONYMOUS: Person = Object.freeze({
  name: 'anonymous',
  identity: 'anonymous',
  role: 'viewer',
  providers: null,
  via: 'none',
  proven: false,
});

declare module 'fastify' {
  interface FastifyRequest {
    /** Who asks. Set by the gate before any other hook or handler of a route runs. */
    person: Person;
  }
  interface FastifyContextConfig {
    /**
     * What the route demands of whoever asks, before anything of the request is read; `see` where it
     * only shows. `open`: nothing is demanded, not even to be known. Routes that change something
     * have to say it.
     */
    right?: Right | 'open';
    /** The cookie is enough to change this: nobody gains anything by it. */
    isByCookieAlone?: boolean;
  }
}
