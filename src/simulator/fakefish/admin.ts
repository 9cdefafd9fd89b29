import fastify, { type FastifyInstance, type FastifyRequest } from 'fastify';
import { z } from 'zod';
import { createHostCheck } from '../../domain/host-header.ts';
import { isSameSecret } from '../same-secret.ts';
import type { FaultRule } from './fault-rules.ts';
import type { Fakefish } from './options.ts';
import { RESET_TYPES } from './profiles.ts';

export const ADMIN_PATH = '/_fake/v1';

export type Controls = Omit<Fakefish, 'adminUrl' | 'adminToken' | 'credentials' | 'close'>;

class AdminError extends Error {
  readonly statusCode: number;
  constructor(statusCode: number, message: string) {
    super(message);
    this.statusCode = statusCode;
  }
}

const advanceBody = z.strictObject({ ms: z.number().min(0) });
const resetBody = z.strictObject({ ResetType: z.enum(RESET_TYPES) });

/** The emulator's own controls, on a port of their own, for whoever holds the token. */
export function createAdmin(controls: Controls, token: string, host: string): FastifyInstance {
  const app = fastify({ forceCloseConnections: true });
  const isOwnName = createHostCheck([host]);
  app.addHook('onRequest', async ({ headers, url }) => {
    if (!isOwnName(headers.host)) throw new AdminError(421, WRONG_NAME);
    const shown = headers['x-fake-admin'];
    const isShown = typeof shown === 'string' && isSameSecret(shown, token);
    if (!isShown && url !== `${ADMIN_PATH}/healthz`) throw new AdminError(401, 'Wrong admin token');
  });
  app.setErrorHandler((error, _request, reply) => {
    const status = error instanceof z.ZodError ? 422 : (statusOf(error) ?? 500);
    return reply.code(status).send({ error: messageOf(error) });
  });
  void app.register(async (scope) => routes(scope, controls), { prefix: ADMIN_PATH });
  return app;
}

const WRONG_NAME = 'Fakefish does not answer under this name: use localhost or its address';

const statusOf = (error: unknown): number | undefined =>
  error instanceof Error && 'statusCode' in error ? Number(error.statusCode) : undefined;

const messageOf = (error: unknown): string => {
  if (!(error instanceof z.ZodError)) return (error as Error).message;
  return error.issues
    .map(({ path, message }) => `${path.join('.') || 'body'}: ${message}`)
    .join('; ');
};

function routes(app: FastifyInstance, controls: Controls): void {
  app.get('/healthz', async () => ({ status: 'ok' }));
  app.get('/state', async () => ({ bmcs: controls.bmcs() }));
  app.get<{ Querystring: { since?: string } }>('/requests', async ({ query: { since = '0' } }) => {
    if (!/^\d+$/.test(since)) throw new AdminError(422, 'since: give the seq of an entry, or 0');
    return { requests: controls.requests(Number(since)) };
  });
  app.get('/clock', async () => clockOf(controls));
  app.post('/clock/advance', async ({ body }: FastifyRequest) => {
    const { ms } = advanceBody.parse(body);
    await controls.advance(ms).catch((error: unknown) => {
      throw new AdminError(409, (error as Error).message);
    });
    return clockOf(controls);
  });
  app.post<{ Params: { name: string } }>('/systems/:name/reset', async ({ params, body }) => {
    const { ResetType: type } = resetBody.parse(body);
    try {
      controls.reset(params.name, type);
    } catch (error) {
      throw new AdminError(404, (error as Error).message);
    }
    return {};
  });
  app.get('/faults', async () => ({ faults: controls.faults() }));
  app.post('/faults', async ({ body }, reply) => {
    const fault = await controls.addFault(body as FaultRule);
    void reply.code(201);
    return fault;
  });
  app.delete('/faults', async (_request, reply) => {
    await controls.clearFaults();
    return reply.code(204).send();
  });
  app.delete<{ Params: { id: string } }>('/faults/:id', async ({ params }, reply) => {
    if (!(await controls.removeFault(params.id)))
      throw new AdminError(404, `no fault ${params.id}`);
    return reply.code(204).send();
  });
}

const clockOf = (controls: Controls) => ({ now: new Date(controls.now()).toISOString() });
