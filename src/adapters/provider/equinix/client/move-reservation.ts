import type { Call } from '../../../http/call.ts';
import { type ApiError, isApiError } from '../../../http/errors.ts';
import { mutate } from '../../../http/mutation.ts';
import type { ReservationRoutes } from './reservation-routes.ts';
import { idOf, type Reservation } from './schema.ts';

/** Moves a reservation to another project; one that is there already has been moved. */
export async function moveReservation(
  routes: ReservationRoutes,
  call: Call,
  { id, projectId }: { readonly id: string; readonly projectId: string },
): Promise<Reservation> {
  return mutate(call, {
    endpoint: 'MoveReservation',
    send: () => routes.postMove(call, id, projectId),
    look: async () => {
      const value = await routes.getReservation(id, call);
      return idOf(value.project) === projectId ? { value } : null;
    },
    looksAfter: mayBeThere,
  });
}

const mayBeThere = (error: ApiError): boolean => isApiError(error, 'Rejected');
