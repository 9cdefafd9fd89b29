import { ApiRefusal } from '../../kit/api.ts';
import {
  type ApiRoute,
  type EquinixCall,
  errorBody,
  isLeaving,
  named,
  readInput,
  sees,
} from './call.ts';
import type { RouteDeps } from './devices.ts';
import { expand, type Node } from './expansion.ts';
import { projectCreate } from './inputs.ts';

/** Projects and the catalogue, which clients read before they create a device. */
export function accountRoutes({ core, views, page }: RouteDeps): ApiRoute[] {
  const { state, ids, now } = core;
  const { catalogue } = state;
  const whole = <T>(path: string, name: string, items: readonly T[], view: (item: T) => Node) => ({
    method: 'GET' as const,
    path,
    handle: (call: EquinixCall) => ({
      status: 200,
      body: { [name]: items.map((item) => expand(view(item), call.query)) },
    }),
  });

  return [
    whole('/plans', 'plans', catalogue.plans, views.plan),
    whole('/projects/{id}/plans', 'plans', catalogue.plans, views.plan),
    whole('/facilities', 'facilities', catalogue.facilities, views.facility),
    whole(
      '/operating-systems',
      'operating_systems',
      catalogue.operatingSystems,
      views.operatingSystem,
    ),
    {
      method: 'GET',
      path: '/projects',
      handle: (call) =>
        page(call, 'projects', {
          items: () => [...state.projects.values()].filter(({ id }) => sees(core, call, id)),
          view: views.project,
        }),
    },
    {
      method: 'POST',
      path: '/projects',
      handle(call) {
        const { name } = readInput(projectCreate, call);
        const project = { id: ids.uuid(), name, createdAtMs: now() };
        state.projects.set(project.id, project);
        core.changed();
        return { status: 201, body: expand(views.project(project), call.query) };
      },
    },
    {
      method: 'DELETE',
      path: '/projects/{id}',
      handle(call) {
        const { id } = named(core, call, state.projects);
        const isIn = ({ projectId }: { projectId: string | null }) => projectId === id;
        // Leaving devices do not count, and are invisible.
        const devices = [...state.devices.values()].filter((one) => isIn(one) && !isLeaving(one));
        if (devices.length > 0 || [...state.reservations.values()].some(isIn)) {
          throw new ApiRefusal(
            403,
            errorBody('Cannot delete a project while it has something in it'),
          );
        }
        for (const key of state.sshKeys.values()) if (isIn(key)) state.sshKeys.delete(key.id);
        state.projects.delete(id);
        core.changed();
        return { status: 204 };
      },
    },
  ];
}
