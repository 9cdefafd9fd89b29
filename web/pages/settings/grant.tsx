import type { Role } from '../../../src/domain/access.ts';
import { texts } from '../../texts.ts';

export const placesOf = (providers: readonly string[] | null): string =>
  providers?.join(', ') ?? texts.access.everywhere;

/** The cells for a role and its providers. */
export const Grant = ({
  role,
  providers,
}: {
  readonly role: Role;
  readonly providers: readonly string[] | null;
}) => (
  <>
    <td>{role}</td>
    <td>{placesOf(providers)}</td>
  </>
);
