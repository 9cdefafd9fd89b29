import { z } from 'zod';
import type { Api } from './api.ts';
import type { Core } from '../core.ts';
import type { Device, SshKey } from '../state/state.ts';
import { covers, seesKey, sshKeyFor } from './access.ts';
import { forbidden, invalid, notFound } from './api-error.ts';
import { created, noContent, ok, readBody, type Call, type Route } from './call.ts';
import { checkKey, removeKey, storeKey } from './ssh-keys.ts';

const strings = z.array(z.string());
const createBody = z.looseObject({
  label: z.string().min(1),
  key: z.string(),
  tags: strings.optional(),
  instances_ids: strings.optional(),
});
const updateBody = z.looseObject({
  label: z.string().min(1).optional(),
  key: z.string().optional(),
  tags: strings.optional(),
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
  /** The description declares no 403 here: a project of others is none. */
  const projectOf = (call: Call) => {
    const project = core.state.projects.get(call.params['id']!);
    if (project && covers(call.caller, project)) return project;
    throw notFound();
  };

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
        const project = projectOf(call);
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
        return created(show(call, add(api, call, projectOf(call).id)));
      },
    },
    { method: 'GET', path: '/ssh-keys/{id}', handle: (call) => ok(show(call, find(call))) },
    { method: 'PATCH', path: '/ssh-keys/{id}', handle: update },
    { method: 'PUT', path: '/ssh-keys/{id}', handle: update },
    {
      method: 'DELETE',
      path: '/ssh-keys/{id}',
      handle: (call) => {
        removeKey(core, find(call).id);
        return noContent;
      },
    },
  ];
}

function add({ core }: Api, call: Call, projectId: string | null): SshKey {
  const body = readBody(createBody, call.body);
  checkKey(body.key);
  const { organizationId } = call.caller;
  const devices = (body.instances_ids ?? []).map((id) => deviceNamed(core, call, id));
  const key = storeKey(core, { ...body, projectId, organizationId });
  for (const { sshKeyIds } of devices) sshKeyIds.push(key.id);
  return key;
}

function deviceNamed(core: Core, call: Call, id: string): Device {
  const device = core.state.devices.get(id);
  const project = core.state.projects.get(device?.projectId ?? '');
  if (device && project && covers(call.caller, project)) return device;
  throw invalid(`instances_ids: no such device "${id}"`);
}

function edit({ core }: Api, key: SshKey, call: Call): SshKey {
  const body = readBody(updateBody, call.body);
  if (body.key !== undefined) checkKey(body.key);
  key.label = body.label ?? key.label;
  key.key = body.key ?? key.key;
  key.tags = body.tags ?? key.tags ?? [];
  key.updatedAtMs = core.now();
  core.changed();
  return key;
}
