import { z } from 'zod';
import type { Project } from '../state/state.ts';
import type { Api } from './api.ts';
import type { Node } from './expansion.ts';
import { organizationFor, projectFor, visibleProjects } from './access.ts';
import { ApiError, forbidden, invalid } from './api-error.ts';
import { created, noContent, ok, readBody, type Call, type Route } from './call.ts';
import { isLeaving } from '../lifecycle/lifecycle.ts';
import { createProject } from '../state/genesis.ts';
import { given } from '../state/knobs.ts';
import { removeKey } from './ssh-keys.ts';

const name = z.string().min(1).max(80);
const details = {
  tags: z.array(z.string()).optional(),
  customdata: z.record(z.string(), z.unknown()).optional(),
  payment_method_id: z.uuid().optional(),
};
const createBody = z.looseObject({
  name,
  ...details,
  organization_id: z.string().optional(),
  type: z.enum(['default', 'vmce']).optional(),
});
const updateBody = z.looseObject({
  name: name.optional(),
  ...details,
  backend_transfer_enabled: z.boolean().optional(),
});

/** The account: user, organisations, projects, what is on sale. */
export const accountRoutes = (api: Api): Route[] => [
  {
    method: 'GET',
    path: '/user',
    handle: (call) => ok(api.show(call, api.views.user(call.caller.organizationId))),
  },
  ...organizationRoutes(api),
  ...projectRoutes(api),
  ...catalogueRoutes(api),
];

const organizationRoutes = (api: Api): Route[] => [
  {
    method: 'GET',
    path: '/organizations',
    handle: (call) => {
      const node = api.views.organization(call.caller.organizationId);
      return ok(
        api.page(call, 'organizations', { items: () => [node], view: same, sortValue: none }),
      );
    },
  },
  {
    method: 'GET',
    path: '/organizations/{id}',
    handle: (call) => {
      const { id } = organizationFor(api.core, call.caller, call.params['id']!);
      return ok(api.show(call, api.views.organization(id)));
    },
  },
];

function projectRoutes(api: Api): Route[] {
  const { core, views } = api;
  const find = (call: Call) => projectFor(core, call.caller, call.params['id']!);
  const update = (call: Call) => {
    const project = find(call);
    const body = readBody(updateBody, call.body);
    Object.assign(project, detailsOf(body), { updatedAtMs: core.now() });
    core.changed();
    return ok(api.show(call, views.project(project)));
  };
  return [
    {
      method: 'GET',
      path: '/projects',
      handle: (call) =>
        ok(
          api.page(call, 'projects', {
            items: () =>
              visibleProjects(core, call.caller).filter(({ name }) =>
                name.includes(call.query.get('name') ?? ''),
              ),
            view: views.project,
            sortValue: (project, field) =>
              new Map<string, string | number>([
                ['id', project.id],
                ['name', project.name],
                ['created_at', project.createdAtMs],
              ]).get(field),
          }),
        ),
    },
    {
      method: 'POST',
      path: '/projects',
      handle: (call) => {
        const body = readBody(createBody, call.body);
        if (call.caller.projectId !== null) throw forbidden('create projects');
        const { organizationId } = call.caller;
        if ((body.organization_id ?? organizationId) !== organizationId) {
          throw invalid(`organization_id: no such organization "${body.organization_id}"`);
        }
        const project = createProject(core.ids, { name: body.name }, organizationId, core.now());
        Object.assign(project, detailsOf(body));
        core.state.projects.set(project.id, project);
        core.changed();
        return created(api.show(call, views.project(project)));
      },
    },
    {
      method: 'GET',
      path: '/projects/{id}',
      handle: (call) => ok(api.show(call, views.project(find(call)))),
    },
    { method: 'PUT', path: '/projects/{id}', handle: update },
    { method: 'PATCH', path: '/projects/{id}', handle: update },
    {
      method: 'DELETE',
      path: '/projects/{id}',
      handle: (call) => {
        deleteProject(api, call, find(call));
        return noContent;
      },
    },
  ];
}

/** What a body says of a project, under the names of the state. */
const detailsOf = (
  body: z.output<typeof updateBody> & Partial<Pick<z.output<typeof createBody>, 'type'>>,
) =>
  given({
    name: body.name,
    type: body.type,
    tags: body.tags,
    customdata: body.customdata,
    paymentMethodId: body.payment_method_id,
    backendTransferEnabled: body.backend_transfer_enabled,
  });

/**
 * Devices that are leaving do not hold it. The description declares no 422 here: what still holds
 * it makes a 403.
 */
function deleteProject({ core }: Api, { caller }: Call, project: Project): void {
  const { state } = core;
  const { id } = project;
  if (caller.projectId !== null) throw forbidden('delete this project');
  const ofIt = <T extends { projectId: string | null }>(list: ReadonlyMap<string, T>) =>
    [...list.values()].filter((one) => one.projectId === id);
  const devices = ofIt(state.devices);
  if (ofIt(state.reservations).length > 0 || !devices.every(isLeaving)) {
    throw new ApiError(403, [
      'Cannot delete a project while it has devices or hardware reservations',
    ]);
  }
  for (const key of ofIt(state.sshKeys)) removeKey(core, key.id);
  state.tokens = state.tokens.filter((token) => token.projectId !== id);
  if (devices.length === 0) state.projects.delete(id);
  else project.deleted = true;
  core.changed();
}

function catalogueRoutes({ core, views, show }: Api): Route[] {
  const whole = <T>(
    path: string,
    name: string,
    items: () => readonly T[],
    view: (item: T) => Node,
    isWanted: (shown: Node, call: Call) => boolean = () => true,
  ) => ({
    method: 'GET' as const,
    path,
    handle: (call: Call) => {
      const nodes = items().map((item) => view(item));
      return ok({
        [name]: nodes.filter((node) => isWanted(node, call)).map((node) => show(call, node)),
      });
    },
  });
  const catalogue = () => core.state.catalogue;
  return [
    whole('/plans', 'plans', () => catalogue().plans, views.plan, isPlanWanted),
    whole(
      '/operating-systems',
      'operating_systems',
      () => catalogue().operatingSystems,
      views.operatingSystem,
    ),
    whole('/facilities', 'facilities', () => catalogue().facilities, views.facility),
    whole('/locations/metros', 'metros', () => catalogue().metros, views.metro),
  ];
}

/** Of several categories one is enough. */
function isPlanWanted({ slug, type, categories }: Node, { query }: Call): boolean {
  const wanted = query.get('categories[]')?.split(',');
  return (
    (query.get('slug') ?? slug) === slug &&
    (query.get('type') ?? type) === type &&
    (wanted?.some((one) => (categories as readonly string[]).includes(one)) ?? true)
  );
}

const same = (node: Node) => node;
const none = () => undefined;
