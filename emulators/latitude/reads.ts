import type { Route } from '../kit/api.ts';
import type { LatitudeCall } from './api.ts';
import { OPERATING_SYSTEMS } from './catalogue.ts';
import { notFound } from './errors.ts';
import { type Filters, filtersOf, pageOf } from './lists.ts';
import * as views from './views.ts';
import {
  isThere,
  type ProjectResource,
  type LatitudeServer,
  type UserData,
  type LatitudeWorld,
} from './world.ts';

interface ListOf<T> {
  readonly filters?: readonly string[];
  readonly items: (call: LatitudeCall, filters: Filters) => readonly T[];
  readonly view: (item: T, call: LatitudeCall) => object;
}

/** All reads. */
export function readRoutes(world: LatitudeWorld): readonly Route<LatitudeCall>[] {
  const list = <T>(
    path: string,
    { filters = [], items, view }: ListOf<T>,
  ): Route<LatitudeCall> => ({
    ...{ method: 'GET', path },
    handle(call) {
      const wanted = filtersOf(call, filters);
      return pageOf(call, items(call, wanted), (item) => view(item, call));
    },
  });
  const one = (path: string, view: (call: LatitudeCall) => object): Route<LatitudeCall> => ({
    ...{ method: 'GET', path },
    handle: (call) => ({ status: 200, body: views.document(view(call)) }),
  });
  const ofProject = <T extends ProjectResource>(
    all: ReadonlyMap<string, T>,
    view: (one: T) => object,
  ) => ({
    filters: ['project'],
    items: (call: LatitudeCall, filters: Filters) => listed(world, all, call, filters),
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

function listed<T extends ProjectResource>(
  { now }: LatitudeWorld,
  all: ReadonlyMap<string, T>,
  call: LatitudeCall,
  filters: Filters,
): T[] {
  const project = filters.get('project');
  const atMs = now() - (call.strike('listLag')?.ms ?? 0);
  return [...all.values()].filter(
    (one) => isThere(one, atMs) && (project === undefined || one.projectId === project),
  );
}

function named(call: LatitudeCall, filters: Filters): (server: LatitudeServer) => boolean {
  const wanted = filters.get('hostname')?.toLowerCase();
  if (wanted === undefined) return () => true;
  const isPrefix = call.strike('hostnameFilter') !== undefined;
  return ({ hostname }) => {
    const own = hostname.toLowerCase();
    return isPrefix ? own.startsWith(wanted) : own === wanted;
  };
}

/** The path's server. @throws {ApiRefusal} 404. */
export const serverOf = ({ servers, now }: LatitudeWorld, call: LatitudeCall): LatitudeServer =>
  found(servers, call, now());
/** The path's user data. @throws {ApiRefusal} 404. */
export const userDataOf = ({ userData, now }: LatitudeWorld, call: LatitudeCall): UserData =>
  found(userData, call, now());

function found<T extends ProjectResource>(
  all: ReadonlyMap<string, T>,
  { params }: LatitudeCall,
  nowMs: number,
): T {
  const one = all.get(params['id'] ?? '');
  if (!one || !isThere(one, nowMs)) throw notFound();
  return one;
}
