import type { Role } from '../../../src/domain/access.ts';
import { texts } from '../../texts.ts';

export const placesOf = (providers: readonly string[] | null): string =>
  providers?.join(', ') ?? texts.access.everywhere;

/** Cells: what somebody may do, and where. */
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
