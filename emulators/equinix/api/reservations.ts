import { lookup } from '../../../src/lib/data.ts';
import type { Reservation } from '../state/state.ts';
import {
  type ApiRoute,
  type EquinixCall,
  invalid,
  named,
  notFound,
  readInput,
  sees,
} from './call.ts';
import type { RouteDeps } from './devices.ts';
import { expand } from './expansion.ts';
import { reservationMove } from './inputs.ts';

/** Hardware reservations: read them, and move them to another project. */
export function reservationRoutes({ core, views, page }: RouteDeps): ApiRoute[] {
  const { state } = core;
  const list = (call: EquinixCall, fits: (one: Reservation) => boolean) =>
    page(call, 'hardware_reservations', {
      items: () => [...state.reservations.values()].filter(fits),
      view: (one) => views.reservation(one, call.lag),
      sortValue: (one, field) => lookup({ created_at: one.createdAtMs, id: one.id }, field),
    });
  const show = (call: EquinixCall, one: Reservation, status = 200) => ({
    ...{ status, body: expand(views.reservation(one, call.lag), call.query) },
  });

  return [
    {
      method: 'GET',
      path: '/projects/{id}/hardware-reservations',
      handle(call) {
        const { id } = named(core, call, state.projects);
        return list(call, ({ projectId }) => projectId === id);
      },
    },
    {
      method: 'GET',
      path: '/organizations/{id}/hardware-reservations',
      handle(call) {
        if (call.params['id'] !== state.organizationId) throw notFound();
        return list(call, ({ projectId }) => sees(core, call, projectId));
      },
    },
    {
      method: 'GET',
      path: '/hardware-reservations/{id}',
      handle: (call) => show(call, named(core, call, state.reservations)),
    },
    {
      method: 'POST',
      path: '/hardware-reservations/{id}/move',
      handle(call) {
        const reservation = named(core, call, state.reservations);
        const { project_id: target } = readInput(reservationMove, call);
        if (!sees(core, call, target)) throw notFound();
        const isHeld = reservation.deviceId !== null || reservation.cleaning;
        if (isHeld && target !== reservation.projectId) {
          throw invalid('Cannot move a hardware reservation while it is in use');
        }
        reservation.projectId = target;
        core.changed();
        return show(call, reservation, 201);
      },
    },
  ];
}
