import { ROLES, type Person, type Right, type Role } from './port.ts';

const HELD: Readonly<Record<Role, readonly Right[]>> = {
  viewer: ['see'],
  checker: ['see', 'report'],
  operator: ['see', 'report', 'operate'],
  admin: ['see', 'report', 'operate', 'destroy', 'administer'],
};

/** Maximum machines in one request by anybody but an admin. */
export const OPERATOR_MACHINES_MAX = 50;

/**
 * Whether this person has the right anywhere. `administer` concerns the whole fleet, so nobody has
 * it for some providers only.
 */
export const mayDo = ({ role, providers }: Pick<Person, 'role' | 'providers'>, right: Right) =>
  HELD[role].includes(right) && (right !== 'administer' || providers === null);

/**
 * Whether this person has the right at a provider.
 * @param provider null: the fleet as a whole, which a grant for some providers does not include.
 */
export const mayDoAt = (person: Person, right: Right, provider: string | null): boolean =>
  mayDo(person, right) && reaches(person, right, provider);

function reaches({ providers }: Person, right: Right, provider: string | null): boolean {
  if (providers === null || right === 'see') return true;
  return provider !== null && providers.some((name) => name === provider);
}

/**
 * Whether this person may see and end a token or session: an admin any, others their own.
 * @param owner identity of its owner; null: unknown.
 */
export const mayTouch = (person: Person, owner: string | null): boolean =>
  mayDoAt(person, 'administer', null) || person.identity === owner;

/** The least role with the right, named in the refusal. */
export const roleFor = (right: Right): Role =>
  ROLES.find((role) => HELD[role].includes(right)) ?? 'admin';
