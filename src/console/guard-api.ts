import type { FastifyInstance } from 'fastify';
import type { FleetView } from './port.ts';

/** `/api/v1/guard`: whether machines are recovered now, why not, and how the budget is used. */
export function addGuardApi(app: FastifyInstance, fleet: FleetView): void {
  app.get('/api/v1/guard', async () => {
    const { atMs, guard, needHuman } = fleet.snapshot();
    return { atMs, ...guard, needHuman, budget: fleet.budget() };
  });
}
