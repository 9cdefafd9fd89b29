import type { Role } from '../../domain/access.ts';

export { ROLES, type Role } from '../../domain/access.ts';

/**
 * What a route, or a verb in a request, demands. `see`: any page or answer. `report`: conditions of
 * machines. `operate`: what a machine survives. `destroy`: what erases data or gives something up.
 * `administer`: access, webhooks and daemons, only for the whole fleet.
 */
export const RIGHTS = ['see', 'report', 'operate', 'destroy', 'administer'] as const;
export type Right = (typeof RIGHTS)[number];

/** The caller, as far as it is known. */
export interface Person {
  /**
   * As in the audit: `oidc:ann@example.org`, `token:ci` (made here), `config:ci` (a configured
   * token), `mtls:CN=ann`, `anonymous`.
   */
  readonly name: string;
  /**
   * Unique even if names are equal. A revoked token frees its name, and an identity provider may
   * give an address to somebody else.
   */
  readonly identity: string;
  readonly role: Role;
  /** Providers where the person may act; null: all. Reading is not limited. */
  readonly providers: readonly string[] | null;
  /** Credentials: nothing, a token in the header, a session cookie, a client certificate. */
  readonly via: 'none' | 'token' | 'cookie' | 'certificate';
  /** The database token that was presented; absent: none. */
  readonly tokenId?: string;
  /** The session of the presented cookie; absent: none. */
  readonly sessionId?: string;
  /** Length of the caller's chain of tokens and logins, its own included; absent: none. */
  readonly generation?: number;
  /** Whether the name was verified; otherwise it is a claim. */
  readonly proven: boolean;
}

/** A caller on loopback without a login: may read, and change nothing. */
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
    /** The caller. The gate sets it before any other hook or handler of a route runs. */
    person: Person;
  }
  interface FastifyContextConfig {
    /**
     * The right that the route demands before any part of the request is read; `see` if the route
     * only shows. `open`: none, the caller may be unknown. Routes that change something must set
     * it.
     */
    right?: Right | 'open';
    /** The cookie is enough for this change, because nobody gains anything by it. */
    isByCookieAlone?: boolean;
  }
}
