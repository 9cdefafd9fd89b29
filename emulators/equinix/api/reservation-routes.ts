import { z } from 'zod';
import { lookup } from '../../../src/domain/lookup.ts';
import type { Api } from './api.ts';
import type { Reservation } from '../state/state.ts';
import { reservationSortValue } from './api.ts';
import { covers, organizationFor, projectFor, reservationFor } from './access.ts';
import { forbidden, invalid, notFound } from './api-error.ts';
import { created, ok, readBody, type Call, type Route } from './call.ts';
import { rememberReservation } from '../lifecycle/device-record.ts';
import type { Query } from './paging.ts';
import { isProvisionable } from '../state/state.ts';

const moveBody = z.looseObject({ project_id: z.string() });

/** Hardware reservations: read, move to another project, take out of the spares. */
export function reservationRoutes(api: Api): Route[] {
  const { core, views } = api;
  const find = (call: Call) => reservationFor(core, call.caller, call.params['id']!);
  const show = (call: Call, one: Reservation) => api.show(call, views.reservation(one, call));
  const list = (call: Call, fits: (one: Reservation) => boolean) =>
    ok(
      api.page(call, 'hardware_reservations', {
        items: () =>
          [...core.state.reservations.values()].filter(
            (one) => fits(one) && filter(one, call.query),
          ),
        view: (one) => views.reservation(one, call),
        sortValue: reservationSortValue,
      }),
    );

  return [
    {
      method: 'GET',
      path: '/projects/{id}/hardware-reservations',
      handle: (call) => {
        const project = projectFor(core, call.caller, call.params['id']!);
        return list(call, (one) => one.projectId === project.id);
      },
    },
    {
      method: 'GET',
      path: '/organizations/{id}/hardware-reservations',
      handle: (call) => {
        const { id } = organizationFor(core, call.caller, call.params['id']!);
        return list(call, (one) => {
          const project = core.state.projects.get(one.projectId)!;
          return project.organizationId === id && covers(call.caller, project);
        });
      },
    },
    {
      method: 'GET',
      path: '/hardware-reservations/{id}',
      handle: (call) => ok(show(call, find(call))),
    },
    {
      method: 'POST',
      path: '/hardware-reservations/{id}/move',
      handle: (call) => {
        const reservation = find(call);
        move(api, call, reservation);
        return created(show(call, reservation));
      },
    },
    {
      method: 'POST',
      path: '/hardware-reservations/{id}/activate',
      handle: (call) => {
        const reservation = find(call);
        rememberReservation(core, reservation);
        reservation.spare = false;
        core.changed();
        return created(show(call, reservation));
      },
    },
  ];
}

function move({ core }: Api, call: Call, reservation: Reservation): void {
  const target = core.state.projects.get(readBody(moveBody, call.body).project_id);
  const source = core.state.projects.get(reservation.projectId)!;
  if (!target) throw notFound();
  if (target.organizationId !== source.organizationId) throw forbidden('move to this project');
  if (!covers(call.caller, target)) throw notFound();
  if (target === source) return;
  const occupied = reservation.deviceId !== null || reservation.cleaning;
  if (occupied) throw invalid('Cannot move a hardware reservation while it is in use');
  reservation.projectId = target.id;
  core.changed();
}

function filter(one: Reservation, query: Query): boolean {
  const state = query.get('state');
  const text = query.get('query')?.toLowerCase() ?? '';
  const states: Record<string, boolean> = {
    active: !one.spare && !one.needOfService,
    spare: one.spare,
    need_of_service: one.needOfService,
  };
  return (
    (query.get('provisionable') !== 'only' || isProvisionable(one)) &&
    (state === undefined || (lookup(states, state) ?? true)) &&
    [one.id, one.plan, one.facility].some((value) => value.toLowerCase().includes(text))
  );
}
