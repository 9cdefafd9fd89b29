import type { Answer, Call, Core, Route } from '../core.ts';
import type { Life } from '../life/life.ts';
import { isInstalling, isThere, note, type Server } from '../state/world.ts';
import { ApiError, notFound, refusalBy } from './api-error.ts';
import { attributesOf, hostnameProblems, refuseFor, type Rule, textIn } from './input.ts';
import { filtersOf, pageOf } from './lists.ts';
import { createServer } from './server-create.ts';
import { deployConfigView, document, serverView } from './views.ts';
import { SERVER_ID } from '../state/ids.ts';

export function serverRoutes(core: Core, life: Life): readonly Route[] {
  const { clock, world } = core;
  const show = (call: Call, server: Server): Answer => ({
    status: 200,
    body: document(serverView(core, call, server)),
  });
  const setLock = (call: Call, locked: boolean): Answer => {
    const server = serverOf(core, call);
    server.locked = locked;
    note(world, server, locked ? 'lock' : 'unlock', clock.now());
    return show(call, server);
  };
  return [
    { method: 'GET', path: '/servers', handle: (call) => listServers(core, call) },
    { method: 'POST', path: '/servers', handle: (call) => createServer(core, life, call) },
    { method: 'GET', path: '/servers/{id}', handle: (call) => show(call, serverOf(core, call)) },
    {
      method: 'PATCH',
      path: '/servers/{id}',
      handle: (call) => show(call, changeServer(core, call)),
    },
    {
      method: 'DELETE',
      path: '/servers/{id}',
      handle(call) {
        const server = changeableServer(core, call);
        if (isInstalling(server) && core.knobs.deleteWhileDeploying === 'refused') {
          throw refusalBy(core.knobs.stateText);
        }
        life.remove(server);
        return { status: 204 };
      },
    },
    {
      method: 'GET',
      path: '/servers/{id}/deploy_config',
      handle: (call) => ({ status: 200, body: document(deployConfigView(serverOf(core, call))) }),
    },
    { method: 'POST', path: '/servers/{id}/lock', handle: (call) => setLock(call, true) },
    { method: 'POST', path: '/servers/{id}/unlock', handle: (call) => setLock(call, false) },
  ];
}

/** The server of the path. @throws {ApiError} 404: there is none, or it is another team's. */
export function serverOf({ world, clock }: Core, { params, team }: Call): Server {
  const { id = '' } = params;
  const server = SERVER_ID.test(id) ? world.servers.get(id) : undefined;
  const owner = world.projects.find(({ id: project }) => project === server?.projectId);
  if (!server || owner?.teamId !== team.id || !isThere(server, clock.now())) throw notFound();
  return server;
}

/** The same, for a change. @throws {ApiError} 404, or what the knob says when it is locked. */
export function changeableServer(core: Core, call: Call): Server {
  const server = serverOf(core, call);
  if (server.isLeaving) throw notFound();
  if (server.locked) throw refusalBy(core.knobs.lockText);
  return server;
}

const FILTERS = ['project', 'hostname', 'label', 'status', 'plan', 'region', 'primary_ipv4'];

function listServers(core: Core, call: Call): Answer {
  const { world, knobs } = core;
  const filters = filtersOf(call, FILTERS);
  const own = world.projects.filter(({ teamId }) => teamId === call.team.id);
  const wanted = filters.get('project');
  const projects = own
    .filter(({ id, name }) => wanted === undefined || wanted === id || wanted === name)
    .map(({ id }) => id);
  const isPrefix = call.strike('hostnameFilter') !== undefined || knobs.hostnameFilter === 'prefix';
  const fits = (server: Server): boolean =>
    [...filters].every(([name, value]) => {
      if (name === 'project') return true;
      if (name !== 'hostname') return shownFor(server, name) === value;
      const hostname = server.hostname.toLowerCase();
      const asked = value.toLowerCase();
      return isPrefix ? hostname.startsWith(asked) : hostname === asked;
    });
  const items = [...world.servers.values()].filter(
    (server) =>
      projects.includes(server.projectId) && isThere(server, call.listsAtMs) && fits(server),
  );
  return pageOf(core, call, items, (server) => serverView(core, call, server, call.listsAtMs));
}

const shownFor = (server: Server, filter: string): string | null =>
  ({
    label: server.label,
    status: server.status,
    plan: server.plan,
    region: server.site,
    primary_ipv4: server.address,
  })[filter] ?? null;

const CHANGES: Readonly<Record<string, Rule>> = {
  hostname: { type: 'text' },
  billing: { type: 'text', oneOf: ['hourly', 'monthly', 'yearly'] },
  project: { type: 'text' },
  tags: { type: 'texts' },
};

function changeServer(core: Core, call: Call): Server {
  const { world, clock } = core;
  const server = changeableServer(core, call);
  const { attributes, problems } = attributesOf(call, 'servers', CHANGES, server.id);
  const [hostname, project] = [textIn(attributes, 'hostname'), textIn(attributes, 'project')];
  const isOwn = ({ id, teamId }: { id: string; teamId: string }) =>
    id === project && teamId === call.team.id;
  refuseFor([...problems, ...hostnameProblems(hostname)], [], 422);
  if (project !== undefined && !world.projects.some(isOwn)) throw notFound();
  const tags = attributes['tags'];
  if (Array.isArray(tags) && tags.some((tag) => tag !== '')) throw new ApiError(404, NO_TAG);
  const billing = textIn(attributes, 'billing') as Server['billing'] | undefined;
  Object.assign(server, {
    ...(hostname !== undefined && { hostname }),
    ...(project !== undefined && { projectId: project }),
    ...(billing !== undefined && { billing }),
  });
  note(world, server, 'update', clock.now());
  return server;
}

/** Nobody made one: this emulator has no tags. */
const NO_TAG = [{ code: 'not_found', detail: 'Specified Record Not Found' }];
