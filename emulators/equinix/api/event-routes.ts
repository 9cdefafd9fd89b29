import type { Core } from '../core.ts';
import type { EventRecord, Project } from '../state/state.ts';
import type { Api } from './api.ts';
import type { Paged } from './list-cache.ts';
import { covers, deviceFor, projectFor } from './access.ts';
import { notFound } from './api-error.ts';
import { ok, type Call, type Route } from './call.ts';

/** An event, and whose it is. */
type Located = { readonly event: EventRecord; readonly subject: string };

/** What happened to devices and in projects, newest first. */
export function eventRoutes(api: Api): Route[] {
  const { core, views } = api;
  const ofDevice = (device: { id: string; events: readonly EventRecord[] }): Located[] =>
    device.events.map((event) => ({ event, subject: `/devices/${device.id}` }));
  const ofProject = (project: Project): Located[] => [
    ...project.events.map((event) => ({ event, subject: `/projects/${project.id}` })),
    ...[...core.state.devices.values()]
      .filter((device) => device.projectId === project.id)
      .flatMap(ofDevice),
  ];
  const list = (located: () => readonly Located[]): Paged<Located> => ({
    items: () =>
      located()
        .toReversed()
        .toSorted((a, b) => b.event.atMs - a.event.atMs),
    view: ({ event, subject }) => views.event(event, subject),
    sortValue: ({ event }, field) => (field === 'created_at' ? event.atMs : undefined),
  });
  return [
    {
      method: 'GET',
      path: '/devices/{id}/events',
      handle: (call) => {
        const device = deviceFor(core, call.caller, call.params['id']!);
        return ok(
          api.page(
            call,
            'events',
            list(() => ofDevice(device)),
          ),
        );
      },
    },
    {
      method: 'GET',
      path: '/projects/{id}/events',
      handle: (call) => {
        const project = projectFor(core, call.caller, call.params['id']!);
        return ok(
          api.page(
            call,
            'events',
            list(() => ofProject(project)),
          ),
        );
      },
    },
    {
      method: 'GET',
      path: '/events/{id}',
      handle: (call) => {
        const found = eventFor(core, call);
        return ok(api.show(call, views.event(found.event, found.subject)));
      },
    },
  ];
}

/** The event, wherever the caller may look. @throws {ApiError} 404. */
function eventFor({ state }: Core, { caller, params }: Call): Located {
  const sees = (projectId: string) => covers(caller, state.projects.get(projectId)!);
  for (const device of state.devices.values()) {
    const event = device.events.find((one) => one.id === params['id']);
    if (event && sees(device.projectId)) return { event, subject: `/devices/${device.id}` };
  }
  for (const project of state.projects.values()) {
    const event = project.events.find((one) => one.id === params['id']);
    if (event && sees(project.id)) return { event, subject: `/projects/${project.id}` };
  }
  throw notFound();
}
