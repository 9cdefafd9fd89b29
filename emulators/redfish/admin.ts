import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { createAdmin, orRefuse } from '../kit/admin.ts';
import type { RedfishEmulator } from './options.ts';
import { RESET_TYPES } from './profiles.ts';

export type Controls = Omit<RedfishEmulator, 'adminUrl' | 'adminToken' | 'credentials' | 'close'>;

const resetBody = z.strictObject({ ResetType: z.enum(RESET_TYPES) });

/** The emulator's own controls, on a port of their own, for whoever holds the token. */
export const createControlsAdmin = (
  controls: Controls,
  token: string,
  host: string,
): FastifyInstance =>
  createAdmin({
    name: 'The emulator of Redfish',
    ...{ controls, token, host },
    routes(app) {
      app.get('/state', async () => ({ bmcs: controls.bmcs() }));
      app.post<{ Params: { name: string } }>('/systems/:name/reset', async ({ params, body }) => {
        const { ResetType: type } = resetBody.parse(body);
        orRefuse(404, () => controls.reset(params.name, type));
        return {};
      });
    },
  });
