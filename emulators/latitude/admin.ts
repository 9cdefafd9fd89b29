import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { createAdmin, orRefuse } from '../kit/admin.ts';
import type { Controls } from './controls.ts';
import type { GivenKnobs } from './state/knobs.ts';

const stockBody = z.strictObject({ plan: z.string(), site: z.string(), count: z.int().min(0) });

/** The emulator's own controls, on a port of their own, for whoever holds the token. */
export const createControlsAdmin = (
  controls: Controls,
  token: string,
  host: string,
): FastifyInstance =>
  createAdmin({
    name: 'The emulator of Latitude.sh',
    ...{ controls, token, host },
    routes(app) {
      app.get('/state', async () => ({
        teams: controls.teams(),
        servers: controls.servers(),
        userData: controls.userData(),
        stock: controls.stock(),
      }));
      app.put('/stock', async ({ body }) => {
        const { plan, site, count } = stockBody.parse(body);
        orRefuse(404, () => controls.setStock(plan, site, count));
        return {};
      });
      app.post('/tokens', async (_request, reply) => {
        void reply.code(201);
        return { token: controls.issueToken() };
      });
      app.get('/knobs', async () => controls.setKnobs({}));
      app.patch('/knobs', async ({ body }) => controls.setKnobs(body as GivenKnobs));
    },
  });
