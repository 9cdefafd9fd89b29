import type { Core } from '../core.ts';
import type { Project, SshKey } from '../state/state.ts';
import type { CreateBody } from './inputs.ts';
import { invalid } from './api-error.ts';
import { sshKeyProblem } from '../state/ssh-key-text.ts';

/** @throws {ApiError} 422 for a text that is not a public key. */
export function checkKey(text: string, field = 'key'): void {
  const problem = sshKeyProblem(text);
  if (problem) throw invalid(`${field}: ${problem}`);
}

/** Stores a key whose text was checked, as it was sent. */
export function storeKey(
  core: Core,
  given: Pick<SshKey, 'label' | 'key' | 'projectId' | 'organizationId'> & {
    tags?: readonly string[] | undefined;
  },
): SshKey {
  const { label, key: text, projectId, organizationId } = given;
  const key: SshKey = {
    label,
    key: text,
    projectId,
    organizationId,
    tags: given.tags ?? [],
    id: core.ids.uuid(),
    createdAtMs: core.now(),
    updatedAtMs: core.now(),
    sequence: ++core.state.sequence,
  };
  core.state.sshKeys.set(key.id, key);
  core.changed();
  return key;
}

/** Takes a key away, from the devices too. */
export function removeKey({ state, changed }: Core, id: string): void {
  state.sshKeys.delete(id);
  for (const { sshKeyIds } of state.devices.values()) {
    const at = sshKeyIds.indexOf(id);
    if (at >= 0) sshKeyIds.splice(at, 1);
  }
  changed();
}

/** Keys of the project, and of its organisation's user. */
const keysAround = ({ state }: Core, project: Project): SshKey[] =>
  [...state.sshKeys.values()].filter((key) =>
    key.projectId === null
      ? key.organizationId === project.organizationId
      : key.projectId === project.id,
  );

/** What a create wants: keys that exist, and texts that are to become keys of the project. */
export interface WantedKeys {
  readonly existing: readonly SshKey[];
  readonly fresh: readonly { label: string; key: string; tags?: readonly string[] | undefined }[];
}

/**
 * The keys that a create names, or, when no list names any, all around the project unless it wants
 * none. Nothing is stored yet.
 * @throws {ApiError} 422 naming the list, for a key or user that does not exist.
 */
export function keysWanted(core: Core, project: Project, body: CreateBody): WantedKeys {
  const around = keysAround(core, project);
  const named = [body.project_ssh_keys, body.user_ssh_keys, body.ssh_keys];
  if (named.every((list) => (list ?? []).length === 0)) {
    return { existing: body.no_ssh_keys ? [] : around, fresh: [] };
  }
  const ofProject = (body.project_ssh_keys ?? []).map((id) => {
    const key = around.find((one) => one.id === id && one.projectId !== null);
    if (!key) throw invalid(`project_ssh_keys: no such key "${id}"`);
    return key;
  });
  const { userId } = core.state.organizations.find((one) => one.id === project.organizationId)!;
  const stranger = body.user_ssh_keys?.find((id) => id !== userId);
  if (stranger !== undefined) throw invalid(`user_ssh_keys: no such user "${stranger}"`);
  const ofUser = body.user_ssh_keys?.length ? around.filter((key) => key.projectId === null) : [];
  const sent = (body.ssh_keys ?? []).map((one, i) => {
    checkKey(one.key, `ssh_keys.${i}.key`);
    const known = around.find((key) => key.projectId !== null && isSameKey(key.key, one.key));
    return known ?? { ...one, label: one.label ?? body.hostname ?? 'device' };
  });
  return {
    existing: [...new Set([...ofProject, ...ofUser, ...sent.filter((one) => 'id' in one)])],
    fresh: sent.filter((one) => !('id' in one)),
  };
}

/** Type and blob are equal; comments and white space do not matter. */
const isSameKey = (one: string, other: string) => blobOf(one) === blobOf(other);
const blobOf = (text: string) =>
  text
    .trim()
    .split(/[ \t]+/)
    .slice(0, 2)
    .join(' ');
