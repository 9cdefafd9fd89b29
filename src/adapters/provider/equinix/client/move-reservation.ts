import type { Call } from './call.ts';
import { type EquinixError, isEquinixError } from './errors.ts';
import { mutate } from './mutation.ts';
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
      const value = await routes.getReservation(call, id);
      return idOf(value.project) === projectId ? { value } : null;
    },
    looksAfter: mayBeThere,
  });
}

const mayBeThere = (error: EquinixError): boolean => isEquinixError(error, 'Rejected');
