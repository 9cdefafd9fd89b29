import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { AdminError, createAdmin } from '../kit/admin.ts';
import type { RobotEmulator } from './options.ts';
import { RESET_TYPES } from './world.ts';

export type Controls = Omit<
  RobotEmulator,
  'url' | 'adminUrl' | 'adminToken' | 'credentials' | 'sshPort' | 'close'
>;

const pressBody = z.strictObject({ type: z.enum(RESET_TYPES) });
const renameBody = z.strictObject({ name: z.string() });

interface OfServer {
  readonly Params: { readonly n: string };
}

/** The emulator's own controls, on a port of their own, for whoever holds the token. */
export const createControlsAdmin = (
  controls: Controls,
  token: string,
  host: string,
): FastifyInstance =>
  createAdmin({
    name: 'The emulator of the Hetzner Robot',
    ...{ controls, token, host },
    routes(app) {
      app.get('/state', async () => ({ servers: controls.servers(), used: controls.used() }));
      const change = (name: string, act: (number: number, body: unknown) => void) =>
        app.post<OfServer>(`/servers/:n/${name}`, async ({ params, body }) => {
          const number = Number(params.n);
          const found = () => controls.servers().find((one) => one.number === number);
          if (!found()) throw new AdminError(404, `no server ${params.n}`);
          act(number, body);
          return found();
        });
      change('press', (number, body) => controls.press(number, pressBody.parse(body).type));
      change('crash', (number) => controls.crash(number));
      change('rename', (number, body) => controls.rename(number, renameBody.parse(body).name));
    },
  });
