/** From least to most: each may do what those before it may. */
export const ROLES = ['viewer', 'operator', 'admin'] as const;
export type Role = (typeof ROLES)[number];

/** Whether a role may do at least what the other may. */
export const isAtLeast = (role: Role, other: Role): boolean =>
  ROLES.indexOf(role) >= ROLES.indexOf(other);

/** The role of this name. A name that this program does not know gives the least one. */
export const roleNamed = (name: string): Role => ROLES.find((role) => role === name) ?? 'viewer';

/** What somebody may do, and where. */
export interface Grant {
  readonly role: Role;
  /** Names of the providers where anything may be done; null: everywhere. To see is not limited. */
  readonly providers: readonly string[] | null;
}

/** Whether a grant gives nothing that the other does not give. */
export const isWithin = ({ role, providers }: Grant, other: Grant): boolean =>
  isAtLeast(other.role, role) &&
  (other.providers === null ||
    (providers?.every((name) => other.providers!.includes(name)) ?? false));

/**
 * What membership in groups gives; null: nothing. Of several it is the highest role, where any group
 * gives that one: a lesser role elsewhere is not added to it.
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

/** A token lasts so long at most. */
export const TOKEN_MAX_MS = 365 * DAY_MS;
/** A session of the page ends when nothing was asked in it for so long … */
export const SESSION_IDLE_MS = 8 * 3_600_000;
/** … and so long after its login in any case. */
export const SESSION_MAX_MS = DAY_MS;
/** After so long the role of who logged in elsewhere is asked again there … */
export const GRANT_MS = 15 * 60_000;
/** … by one daemon at a time, the next one after so long … */
export const GRANT_RETRY_MS = 30_000;
/** … and when nobody answers, it is believed for so long. */
export const GRANT_MAX_MS = 60 * 60_000;
/** Life of a one-time link: long enough to read what is printed around it and to open it elsewhere. */
export const LOGIN_CODE_MS = 10 * 60_000;

/** A login of a command waits so long for a person who confirms it in a browser. */
export const DEVICE_LOGIN_MS = 10 * 60_000;
/** At most so many wait at once, since strangers may begin one. */
export const DEVICE_LOGINS_MAX = 1_000;
/** The command asks whether it is confirmed with this pause … */
export const DEVICE_INTERVAL_MS = 5_000;
/** … and with one longer by this each time it did not wait that long (RFC 8628, 3.5). */
export const DEVICE_SLOWER_MS = 5_000;
/** Letters of the short code that a person types: no vowels, so that it is no word (RFC 8628, 6.1). */
export const USER_CODE_LETTERS = 'BCDFGHJKLMNPQRSTVWXZ';
export const USER_CODE_LENGTH = 8;

/**
 * Header of what the page changes. It shows what the page keeps in `sessionStorage`, which a browser
 * gives to no other port, whereas it sends the cookie to every port of the host.
 */
export const PAGE_SECRET = 'shepherd-secret';

/** What a token is called: it stands in the audit as `token:<name>`. */
export const TOKEN_NAME = /^[a-z0-9]([a-z0-9._-]{0,62}[a-z0-9])?$/i;
