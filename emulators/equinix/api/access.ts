import type { Core } from '../core.ts';
import type { Device, Project, Reservation, SshKey, State, Token } from '../state/state.ts';
import { isSameSecret } from '../../kit/same-secret.ts';
import { isVisible, isWithdrawn } from '../core.ts';
import { forbidden, notFound, unauthenticated } from './api-error.ts';

/** @throws {ApiError} 401 without a token, or with one that is unknown or revoked. */
export function authenticate(state: State, header: string | string[] | undefined): Token {
  const shown = typeof header === 'string' ? header : '';
  const token = state.tokens.find((one) => isSameSecret(one.value, shown));
  if (!token || token.revoked) throw unauthenticated();
  return token;
}

/** Whether the token's scope covers the project, and it was not deleted. */
export const covers = (token: Token, project: Project): boolean =>
  !project.deleted &&
  (token.projectId === null
    ? token.organizationId === project.organizationId
    : token.projectId === project.id);

/**
 * A project-scoped token does not learn that others' objects exist (404); a user-scoped one is
 * told that it may not (403).
 */
function admit(
  token: Token,
  project: Project | undefined,
  what: string,
): asserts project is Project {
  if (!project || project.deleted) throw notFound();
  if (covers(token, project)) return;
  throw token.projectId === null ? forbidden(`view this ${what}`) : notFound();
}

export function projectFor(core: Core, token: Token, id: string): Project {
  const project = core.state.projects.get(id);
  admit(token, project, 'project');
  return project;
}

export function organizationFor(core: Core, token: Token, id: string) {
  const organization = core.state.organizations.find((one) => one.id === id);
  if (!organization) throw notFound();
  if (token.organizationId !== id) {
    throw token.projectId === null ? forbidden('view this organization') : notFound();
  }
  return organization;
}

/** Projects of the organisation that the token sees. */
export const visibleProjects = (core: Core, token: Token): Project[] =>
  [...core.state.projects.values()].filter((project) => covers(token, project));

export function deviceFor(core: Core, token: Token, id: string): Device {
  const device = core.state.devices.get(id);
  if (!device || !isVisible(core, device)) throw notFound();
  admit(token, core.state.projects.get(device.projectId), 'device');
  if (isWithdrawn(core, device)) {
    throw core.knobs.onDemandVanish === 403 ? forbidden('view this device') : notFound();
  }
  return device;
}

export function reservationFor(core: Core, token: Token, id: string): Reservation {
  const reservation = core.state.reservations.get(id);
  if (!reservation) throw notFound();
  admit(token, core.state.projects.get(reservation.projectId), 'hardware reservation');
  return reservation;
}

export function sshKeyFor(core: Core, token: Token, id: string): SshKey {
  const key = core.state.sshKeys.get(id);
  if (!key) throw notFound();
  if (!seesKey(core, token, key)) {
    throw token.projectId === null ? forbidden('view this SSH key') : notFound();
  }
  return key;
}

/** A user's own keys are seen by user-scoped tokens of the organisation only. */
export function seesKey(core: Core, token: Token, key: SshKey): boolean {
  if (key.projectId === null) {
    return token.projectId === null && token.organizationId === key.organizationId;
  }
  const project = core.state.projects.get(key.projectId);
  return project !== undefined && covers(token, project);
}
