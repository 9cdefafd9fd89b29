import { sshKeyProblem } from '../state/ssh-key-text.ts';
import type { EquinixSshKey } from '../state/state.ts';
import { ApiRefusal } from '../../kit/api.ts';
import {
  type ApiRoute,
  type EquinixCall,
  errorBody,
  invalid,
  named,
  readInput,
  sees,
} from './call.ts';
import type { RouteDeps } from './devices.ts';
import { expand } from './expansion.ts';
import { keyCreate, keyUpdate } from './inputs.ts';

/** SSH keys, of a project or of the user. Lists are not paged. */
export function keyRoutes({ core, views }: Pick<RouteDeps, 'core' | 'views'>): ApiRoute[] {
  const { state, now } = core;
  const show = (call: EquinixCall, key: EquinixSshKey, status = 200) => ({
    ...{ status, body: expand(views.sshKey(key), call.query) },
  });
  const list = (call: EquinixCall, fits: (key: EquinixSshKey) => boolean) => {
    const keys = [...state.sshKeys.values()].filter(fits);
    const body = { ssh_keys: keys.map((key) => expand(views.sshKey(key), call.query)) };
    return { status: 200, body };
  };
  const add = (call: EquinixCall, projectId: string | null) => {
    const { label, key: text, tags = [] } = readInput(keyCreate, call);
    checkKey(text);
    const times = { createdAtMs: now(), updatedAtMs: now() };
    const key = { id: core.ids.uuid(), label, key: text, tags, projectId, ...times };
    state.sshKeys.set(key.id, key);
    core.changed();
    return show(call, key, 201);
  };
  const update = (call: EquinixCall) => {
    const key = named(core, call, state.sshKeys);
    const { label = key.label, key: text = key.key, tags = key.tags } = readInput(keyUpdate, call);
    checkKey(text);
    const changed = { ...key, label, key: text, tags, updatedAtMs: now() };
    state.sshKeys.set(key.id, changed);
    core.changed();
    return show(call, changed);
  };
  return [
    {
      method: 'GET',
      path: '/ssh-keys',
      handle: (call) => list(call, (key) => sees(core, call, key.projectId)),
    },
    {
      method: 'POST',
      path: '/ssh-keys',
      handle(call) {
        if (call.token.projectId !== null) throw new ApiRefusal(403, errorBody(NOT_THE_USER));
        return add(call, null);
      },
    },
    {
      method: 'GET',
      path: '/projects/{id}/ssh-keys',
      handle(call) {
        const { id } = named(core, call, state.projects);
        return list(call, (key) => key.projectId === id);
      },
    },
    {
      method: 'POST',
      path: '/projects/{id}/ssh-keys',
      handle: (call) => add(call, named(core, call, state.projects).id),
    },
    {
      method: 'GET',
      path: '/ssh-keys/{id}',
      handle: (call) => show(call, named(core, call, state.sshKeys)),
    },
    { method: 'PUT', path: '/ssh-keys/{id}', handle: update },
    { method: 'PATCH', path: '/ssh-keys/{id}', handle: update },
    {
      method: 'DELETE',
      path: '/ssh-keys/{id}',
      handle(call) {
        state.sshKeys.delete(named(core, call, state.sshKeys).id);
        core.changed();
        return { status: 204 };
      },
    },
  ];
}

const NOT_THE_USER = "You are not authorized to create a user's SSH key";

/** @throws {ApiRefusal} 422 for a text that is not a public key. */
function checkKey(text: string): void {
  const problem = sshKeyProblem(text);
  if (problem !== undefined) throw invalid(`key: ${problem}`);
}
