import { z } from 'zod';
import type { Api } from './api.ts';
import type { Core } from '../core.ts';
import type { SshKey } from '../state/state.ts';
import { projectFor, seesKey, sshKeyFor } from './access.ts';
import { forbidden, invalid } from './api-error.ts';
import { created, noContent, ok, readBody, type Call, type Route } from './call.ts';
import { sshKeyProblem } from '../state/ssh-key-text.ts';

const createBody = z.looseObject({
  label: z.string().min(1),
  key: z.string(),
  instances_ids: z.array(z.string()).optional(),
});
const updateBody = z.looseObject({
  label: z.string().min(1).optional(),
  key: z.string().optional(),
});

/** SSH keys, of a project or of the organisation's user. Lists are not paged. */
export function keyRoutes(api: Api): Route[] {
  const { core, views } = api;
  const find = (call: Call) => sshKeyFor(core, call.caller, call.params['id']!);
  const show = (call: Call, key: SshKey) => api.show(call, views.sshKey(key));
  const list = (call: Call, fits: (key: SshKey) => boolean) => {
    const text = (call.query.get('query') ?? call.query.get('search') ?? '').toLowerCase();
    const keys = [...core.state.sshKeys.values()].filter(
      (key) => fits(key) && [key.label, key.key].some((one) => one.toLowerCase().includes(text)),
    );
    return ok({ ssh_keys: keys.map((key) => show(call, key)) });
  };
  const update = (call: Call) => ok(show(call, edit(api, find(call), call)));

  return [
    {
      method: 'GET',
      path: '/ssh-keys',
      handle: (call) => list(call, (key) => seesKey(core, call.caller, key)),
    },
    {
      method: 'GET',
      path: '/projects/{id}/ssh-keys',
      handle: (call) => {
        const project = projectFor(core, call.caller, call.params['id']!);
        return list(call, (key) => key.projectId === project.id);
      },
    },
    {
      method: 'POST',
      path: '/ssh-keys',
      handle: (call) => {
        if (call.caller.projectId !== null) throw forbidden("create a user's SSH key");
        return created(show(call, add(api, call, null)));
      },
    },
    {
      method: 'POST',
      path: '/projects/{id}/ssh-keys',
      handle: (call) => {
        const project = projectFor(core, call.caller, call.params['id']!);
        return created(show(call, add(api, call, project.id)));
      },
    },
    { method: 'GET', path: '/ssh-keys/{id}', handle: (call) => ok(show(call, find(call))) },
    { method: 'PATCH', path: '/ssh-keys/{id}', handle: update },
    { method: 'PUT', path: '/ssh-keys/{id}', handle: update },
    {
      method: 'DELETE',
      path: '/ssh-keys/{id}',
      handle: (call) => {
        const { id } = find(call);
        core.state.sshKeys.delete(id);
        for (const { sshKeyIds } of core.state.devices.values()) {
          const at = sshKeyIds.indexOf(id);
          if (at >= 0) sshKeyIds.splice(at, 1);
        }
        core.changed();
        return noContent;
      },
    },
  ];
}

function add({ core }: Api, call: Call, projectId: string | null): SshKey {
  const body = readBody(createBody, call.body);
  checkKey(body.key);
  checkLabel(core, body.label, { projectId });
  const key: SshKey = {
    id: core.ids.uuid(),
    label: body.label,
    key: body.key.trim(),
    projectId,
    organizationId: call.caller.organizationId,
    createdAtMs: core.now(),
    updatedAtMs: core.now(),
    sequence: ++core.state.sequence,
  };
  core.state.sshKeys.set(key.id, key);
  core.changed();
  return key;
}

function edit({ core }: Api, key: SshKey, call: Call): SshKey {
  const body = readBody(updateBody, call.body);
  if (body.key !== undefined) checkKey(body.key);
  if (body.label !== undefined) checkLabel(core, body.label, key);
  key.label = body.label ?? key.label;
  key.key = body.key?.trim() ?? key.key;
  key.updatedAtMs = core.now();
  core.changed();
  return key;
}

function checkKey(text: string): void {
  const problem = sshKeyProblem(text);
  if (problem) throw invalid(`key: ${problem}`);
}

/** Under the knob no two keys of a project have the same label. */
function checkLabel(
  { knobs, state }: Core,
  label: string,
  of: { id?: string; projectId: string | null },
): void {
  if (!knobs.uniqueLabels) return;
  const taken = [...state.sshKeys.values()].some(
    (key) => key.label === label && key.projectId === of.projectId && key.id !== of.id,
  );
  if (taken) throw invalid('label: has already been taken');
}
