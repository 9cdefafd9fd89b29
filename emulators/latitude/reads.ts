import type { Route } from '../kit/api.ts';
import type { Call } from './api.ts';
import { OPERATING_SYSTEMS } from './catalogue.ts';
import { notFound } from './errors.ts';
import { type Filters, filtersOf, pageOf } from './lists.ts';
import * as views from './views.ts';
import { isThere, type Listed, type Server, type UserData, type World } from './world.ts';

interface ListOf<T> {
  readonly filters?: readonly string[];
  readonly items: (call: Call, filters: Filters) => readonly T[];
  readonly view: (item: T, call: Call) => object;
}

/** Everything that can be read. */
export function readRoutes(world: World): readonly Route<Call>[] {
  const list = <T>(path: string, { filters = [], items, view }: ListOf<T>): Route<Call> => ({
    ...{ method: 'GET', path },
    handle(call) {
      const wanted = filtersOf(call, filters);
      return pageOf(call, items(call, wanted), (item) => view(item, call));
    },
  });
  const one = (path: string, view: (call: Call) => object): Route<Call> => ({
    ...{ method: 'GET', path },
    handle: (call) => ({ status: 200, body: views.document(view(call)) }),
  });
  const ofProject = <T extends Listed>(all: ReadonlyMap<string, T>, view: (one: T) => object) => ({
    filters: ['project'],
    items: (call: Call, filters: Filters) => listed(world, all, call, filters),
    view,
  });
  return [
    list('/servers', {
      filters: ['project', 'hostname'],
      items: (call, filters) =>
        listed(world, world.servers, call, filters).filter(named(call, filters)),
      view: (server, call) => views.serverView(world, call, server),
    }),
    one('/servers/{id}', (call) => views.serverView(world, call, serverOf(world, call))),
    one('/servers/{id}/deploy_config', (call) => views.deployConfigView(serverOf(world, call))),
    list('/user_data', ofProject(world.userData, views.userDataView)),
    one('/user_data/{id}', (call) => views.userDataView(userDataOf(world, call))),
    list('/ssh_keys', ofProject(world.sshKeys, views.sshKeyView)),
    list('/projects', { items: () => world.projects, view: views.projectView }),
    list('/plans/operating_systems', {
      items: () => OPERATING_SYSTEMS,
      view: (system) => views.operatingSystemView(world, system),
    }),
  ];
}

function listed<T extends Listed>(
  { now }: World,
  all: ReadonlyMap<string, T>,
  call: Call,
  filters: Filters,
): T[] {
  const project = filters.get('project');
  const atMs = now() - (call.strike('listLag')?.ms ?? 0);
  return [...all.values()].filter(
    (one) => isThere(one, atMs) && (project === undefined || one.projectId === project),
  );
}

function named(call: Call, filters: Filters): (server: Server) => boolean {
  const wanted = filters.get('hostname')?.toLowerCase();
  if (wanted === undefined) return () => true;
  const isPrefix = call.strike('hostnameFilter') !== undefined;
  return ({ hostname }) => {
    const own = hostname.toLowerCase();
    return isPrefix ? own.startsWith(wanted) : own === wanted;
  };
}

/** The server of the path. @throws {Refusal} 404. */
export const serverOf = ({ servers, now }: World, call: Call): Server =>
  found(servers, call, now());
/** The user data of the path. @throws {Refusal} 404. */
export const userDataOf = ({ userData, now }: World, call: Call): UserData =>
  found(userData, call, now());

function found<T extends Listed>(all: ReadonlyMap<string, T>, { params }: Call, nowMs: number): T {
  const one = all.get(params['id'] ?? '');
  if (!one || !isThere(one, nowMs)) throw notFound();
  return one;
}
