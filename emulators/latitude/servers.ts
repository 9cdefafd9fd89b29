import { z } from 'zod';
import type { ApiAnswer, Route } from '../kit/api.ts';
import type { LatitudeCall } from './api.ts';
import { OPERATING_SYSTEMS, SITES } from './catalogue.ts';
import { locked, notFound, outOfStock } from './errors.ts';
import { attributesOf, filled, hostname, known } from './input.ts';
import type { ServerLife } from './life/life.ts';
import { serverOf } from './reads.ts';
import { document, shortServerView } from './views.ts';
import {
  addServer,
  isThere,
  type ProjectResource,
  type LatitudeServer,
  stockLeft,
  type LatitudeWorld,
} from './world.ts';

/** Creations and deletions of servers. */
export function serverRoutes(
  world: LatitudeWorld,
  life: ServerLife,
): readonly Route<LatitudeCall>[] {
  const newServer = z
    .strictObject({
      project: known((wanted) => world.projects.some(({ id }) => id === wanted)),
      plan: known((wanted) => world.stock.has(wanted)),
      site: known((wanted) => SITES.some(({ slug }) => slug === wanted)),
      ...installationShape(world),
      billing: z.enum(['hourly', 'monthly', 'yearly']).default('hourly'),
    })
    .refine(({ project, billing }) => isReserved(project) === (billing === 'yearly'), {
      ...{ path: ['billing'], error: 'is not available in this project' },
    });
  const isReserved = (project: string) =>
    world.projects.some(
      ({ id, provisioningType }) => id === project && provisioningType === 'reserved',
    );

  async function create(call: LatitudeCall): Promise<ApiAnswer> {
    const wanted = attributesOf(call, 'servers', newServer);
    const { project: projectId, plan, site, billing } = wanted;
    const left = call.strike('stockOut') ? 0 : stockLeft(world, plan, site);
    if (left < 1) throw outOfStock();
    const server = addServer(world, {
      ...{ projectId, plan, site, billing, hostname: wanted.hostname, isPaper: false },
      deploy: {
        operatingSystem: wanted.operating_system,
        raid: wanted.raid ?? null,
        userData: wanted.user_data ?? null,
        sshKeys: wanted.ssh_keys ?? [],
      },
    });
    await life.create(server);
    return { status: 201, body: document(shortServerView(call, server)) };
  }

  return [
    { method: 'POST', path: '/servers', handle: create },
    {
      method: 'DELETE',
      path: '/servers/{id}',
      handle(call) {
        life.remove(changeableServer(world, call));
        return { status: 204 };
      },
    },
  ];
}

/** The common attributes of create and reinstall. */
export const installationShape = (world: LatitudeWorld) => ({
  operating_system: known((wanted) => OPERATING_SYSTEMS.some(({ slug }) => slug === wanted)),
  hostname,
  ssh_keys: z
    .array(filled)
    .refine((ids) => ids.every((id) => exists(world, world.sshKeys.get(id))), NOT_FOUND)
    .nullish(),
  user_data: known((id) => exists(world, world.userData.get(id))).nullish(),
  raid: z.enum(['raid-0', 'raid-1']).nullish(),
});

const NOT_FOUND = 'could not be found';
const exists = ({ now }: LatitudeWorld, one: ProjectResource | undefined): boolean =>
  one !== undefined && isThere(one, now());

/** The path's server, for a change. @throws {ApiRefusal} 404, or 422 if the server is locked. */
export function changeableServer(world: LatitudeWorld, call: LatitudeCall): LatitudeServer {
  const server = serverOf(world, call);
  if (server.isLeaving) throw notFound();
  if (call.strikeServer(server, 'locked')) throw locked();
  return server;
}
