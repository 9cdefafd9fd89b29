/** Roles from least to most: each role includes the rights of the roles before it. */
export const ROLES = ['viewer', 'checker', 'operator', 'admin'] as const;
export type Role = (typeof ROLES)[number];

/** Whether a role includes the rights of the other role. */
export const isAtLeast = (role: Role, other: Role): boolean =>
  ROLES.indexOf(role) >= ROLES.indexOf(other);

/** Returns the role of this name, or the least role if this program does not know the name. */
export const roleNamed = (name: string): Role => ROLES.find((role) => role === name) ?? 'viewer';

/** A person's role, and the providers where it applies. */
export interface Grant {
  readonly role: Role;
  /** Names of the providers where the role may change things; null: everywhere. */
  readonly providers: readonly string[] | null;
}

/** Whether a grant includes nothing that the other grant lacks. */
export const isWithin = ({ role, providers }: Grant, other: Grant): boolean =>
  isAtLeast(other.role, role) &&
  (other.providers === null ||
    (providers?.every((name) => other.providers!.includes(name)) ?? false));

/**
 * Returns the grant that group memberships give; null: none. The highest role wins, at the
 * providers of the groups that give this role. Lesser roles at other providers are not added.
 */
export function grantOfGroups(
  groups: readonly string[],
  table: ReadonlyMap<string, Grant>,
): Grant | null {
  const grants = groups.flatMap((group) => table.get(group) ?? []);
  const role = ROLES.findLast((each) => grants.some((grant) => grant.role === each));
  if (role === undefined) return null;
  const places = grants.filter((grant) => grant.role === role).map(({ providers }) => providers);
  const isEverywhere = places.includes(null);
  return { role, providers: isEverywhere ? null : [...new Set(places.flatMap((at) => at ?? []))] };
}

const DAY_MS = 86_400_000;

/** Longest lifetime of a token. */
export const TOKEN_MAX_MS = 365 * DAY_MS;
/** A session of the page ends after this long without a request. */
export const SESSION_IDLE_MS = 8 * 3_600_000;
/** A session of the page ends this long after its login, even if it is in use. */
export const SESSION_MAX_MS = DAY_MS;
/** A daemon asks the login service for the person's role again after this long. */
export const GRANT_MS = 15 * 60_000;
/** When a role must be asked for again, another daemon tries after this long. */
export const GRANT_RETRY_MS = 30_000;
/** When the login service does not answer, the last known role stays valid for this long. */
export const GRANT_MAX_MS = 60 * 60_000;
/** Lifetime of a one-time link: long enough to read the text and open the link elsewhere. */
export const LOGIN_CODE_MS = 10 * 60_000;

/** Time in which a person must confirm a command's login in a browser. */
export const DEVICE_LOGIN_MS = 10 * 60_000;
/** Maximum number of logins that wait for confirmation, because strangers may start a login. */
export const DEVICE_LOGINS_MAX = 1_000;
/** Pause between two polls of the command … */
export const DEVICE_INTERVAL_MS = 5_000;
/** … and its increase after each poll that came too early (RFC 8628, 3.5). */
export const DEVICE_SLOWER_MS = 5_000;
/** Letters of the short code that a person types: no vowels, so that it is no word (RFC 8628, 6.1). */
export const USER_CODE_LETTERS = 'BCDFGHJKLMNPQRSTVWXZ';
export const USER_CODE_LENGTH = 8;

/**
 * Header that the page sends with every change. Its value comes from `sessionStorage`, which a
 * browser keeps apart by port, whereas it sends a cookie to every port of the host.
 */
export const PAGE_SECRET = 'shepherd-secret';

/** Form of a token's name. The audit shows it as `token:<name>`. */
export const TOKEN_NAME = /^[a-z0-9]([a-z0-9._-]{0,62}[a-z0-9])?$/i;
