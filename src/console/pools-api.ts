import type { FastifyInstance } from 'fastify';
import { problem } from './gate.ts';
import type { FleetView } from './port.ts';

/**
 * `/api/v1/pools` and `/api/v1/pools/<pool>`: how pools stand at their balancers, with their members.
 * Each is as the database tells it; health is there where this daemon tends the balancer itself.
 */
export function addPoolsApi(app: FastifyInstance, fleet: FleetView): void {
  app.get('/api/v1/pools', async () => {
    const { atMs, pools } = fleet.snapshot();
    return { atMs, pools };
  });
  app.get<{ Params: { pool: string } }>('/api/v1/pools/:pool', async (request, reply) => {
    const { atMs, pools } = fleet.snapshot();
    const named = pools.filter(({ pool }) => pool === request.params.pool);
    if (named.length > 0) return { atMs, pools: named };
    const wanted = request.params.pool;
    return reply.code(404).send(problem('not-found', `No pool is named ${wanted}`));
  });
}
