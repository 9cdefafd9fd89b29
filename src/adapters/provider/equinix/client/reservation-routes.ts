import type { Api } from '../../../http/api.ts';
import type { Call } from '../../../http/call.ts';
import { readPages, type Walked } from '../../../http/pages.ts';
import type { EquinixConfig } from '../settings.ts';
import { checkedId, type ListOptions, pagingOf, type Within } from './request-parts.ts';
import { ofId, type Reservation, reservation, reservationPage } from './schema.ts';

const OLDEST_FIRST = { sort_by: 'created_at', sort_direction: 'asc' };

/** The routes of hardware reservations; see `createDeviceRoutes`. */
export function createReservationRoutes(
  config: Pick<EquinixConfig, 'projectId' | 'pageSize'>,
  api: Pick<Api, 'call'>,
) {
  const pathOf = (call: Call, id: string) => `/hardware-reservations/${checkedId(call, id)}`;

  function read(
    call: Call,
    { endpoint, path, include }: { endpoint: string; path: string; include: string },
    options: ListOptions,
  ): Promise<Walked<Reservation>> {
    const fetchPage = async (number: number) => {
      const query = { include, ...OLDEST_FIRST, ...pagingOf(config, number) };
      const request = { method: 'GET', path, query, bulk: true } as const;
      const page = await call.send({ ...request, schema: reservationPage });
      return { ...page.hardware_reservations, ...page.meta };
    };
    return readPages(call, { ...options, endpoint, fetchPage });
  }

  return {
    /** All reservations of a project: slow and costly. */
    async listReservations(
      within: Within,
      options: ListOptions = {},
    ): Promise<Walked<Reservation>> {
      const call = api.call('listReservations', within);
      const path = `/projects/${checkedId(call, config.projectId)}/hardware-reservations`;
      const source = { endpoint: 'ListReservations', path, include: 'facility,device' };
      return read(call, source, options);
    },
    /** All reservations of an organisation, each with its project. */
    async listOrganizationReservations(
      organizationId: string,
      within: Within,
      options: ListOptions = {},
    ): Promise<Walked<Reservation>> {
      const call = api.call('listOrganizationReservations', within);
      const path = `/organizations/${checkedId(call, organizationId)}/hardware-reservations`;
      const include = 'facility,device,project';
      const endpoint = 'ListOrganizationReservations';
      return read(call, { endpoint, path, include }, options);
    },
    async getReservation(id: string, within: Within): Promise<Reservation> {
      const call = api.call('getReservation', within);
      return call.send({
        method: 'GET',
        path: pathOf(call, id),
        query: { include: 'device,facility,project' },
        schema: ofId(reservation, id),
      });
    },
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
