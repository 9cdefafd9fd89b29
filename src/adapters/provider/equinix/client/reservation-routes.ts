import type { EquinixConfig } from '../settings.ts';
import type { Call } from './call.ts';
import type { List, ListOptions, Paging } from './listing.ts';
import type { Walked } from './pages.ts';
import { checkedId } from './request-parts.ts';
import { ofId, type Reservation, reservation, reservationPage } from './schema.ts';

const OLDEST_FIRST = { sort_by: 'created_at', sort_direction: 'asc' };

/** The routes of hardware reservations; see `createDeviceRoutes`. */
export function createReservationRoutes(config: Pick<EquinixConfig, 'projectId'>, list: List) {
  const pathOf = (call: Call, id: string) => `/hardware-reservations/${checkedId(call, id)}`;

  const walk = (
    call: Call,
    { endpoint, path, include }: { endpoint: string; path: string; include: string },
    options: ListOptions,
  ): Promise<Walked<Reservation>> => {
    const fetchPage = async (paging: Paging) => {
      const query = { include, ...OLDEST_FIRST, ...paging };
      const request = { method: 'GET', path, query, bulk: true } as const;
      const page = await call.send({ ...request, schema: reservationPage });
      return { ...page.hardware_reservations, meta: page.meta };
    };
    return list(call, { endpoint, fetchPage }, options);
  };

  return {
    /** All reservations of a project: slow and costly. */
    listReservations: (call: Call, options: ListOptions = {}): Promise<Walked<Reservation>> => {
      const projectId = checkedId(call, options.projectId ?? config.projectId);
      const path = `/projects/${projectId}/hardware-reservations`;
      const source = { endpoint: 'ListReservations', path, include: 'facility,device' };
      return walk(call, source, options);
    },
    /** All reservations of an organisation, each with its project. */
    listOrganizationReservations: (
      call: Call,
      organizationId: string,
      options: Pick<ListOptions, 'insist'> = {},
    ): Promise<Walked<Reservation>> => {
      const path = `/organizations/${checkedId(call, organizationId)}/hardware-reservations`;
      const include = 'facility,device,project';
      const endpoint = 'ListOrganizationReservations';
      return walk(call, { endpoint, path, include }, options);
    },
    getReservation: (call: Call, id: string): Promise<Reservation> =>
      call.send({
        method: 'GET',
        path: pathOf(call, id),
        query: { include: 'device,facility,project' },
        schema: ofId(reservation, id),
      }),
    postMove: (call: Call, id: string, projectId: string): Promise<Reservation> =>
      call.send({
        method: 'POST',
        path: `${pathOf(call, id)}/move`,
        body: { project_id: checkedId(call, projectId) },
        schema: ofId(reservation, id),
      }),
  };
}
export type ReservationRoutes = ReturnType<typeof createReservationRoutes>;
