import type { Api } from '../../../http/api.ts';
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
  return {
    /** All reservations of a project: slow and costly. */
    async listReservations(
      within: Within,
      options: ListOptions = {},
    ): Promise<Walked<Reservation>> {
      const call = api.call('listReservations', within);
      const path = `/projects/${checkedId(call, config.projectId)}/hardware-reservations`;
      const fetchPage = async (number: number) => {
        const query = { include: 'facility,device', ...OLDEST_FIRST, ...pagingOf(config, number) };
        const request = { method: 'GET', path, query, bulk: true } as const;
        const page = await call.send({ ...request, schema: reservationPage });
        return { ...page.hardware_reservations, ...page.meta };
      };
      return readPages(call, { ...options, endpoint: 'ListReservations', fetchPage });
    },
    async getReservation(id: string, within: Within): Promise<Reservation> {
      const call = api.call('getReservation', within);
      return call.send({
        method: 'GET',
        path: `/hardware-reservations/${checkedId(call, id)}`,
        query: { include: 'device,facility,project' },
        schema: ofId(reservation, id),
      });
    },
  };
}
export type ReservationRoutes = ReturnType<typeof createReservationRoutes>;
