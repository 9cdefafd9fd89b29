import type { FastifyInstance } from 'fastify';
import type { FleetView } from './port.ts';

/**
 * `/api/v1/guard`: whether machines are recovered now, why not, how the budget is used, and of which
 * providers recovery may erase disks.
 */
export function addGuardApi(
  app: FastifyInstance,
  fleet: FleetView,
  mayEraseDisks: readonly string[],
): void {
  app.get('/api/v1/guard', async () => {
    const { atMs, guard, needHuman } = fleet.snapshot();
    return { atMs, ...guard, needHuman, budget: fleet.budget(), mayEraseDisks };
  });
}
