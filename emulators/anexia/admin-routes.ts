import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { isSameSecret } from '../kit/same-secret.ts';
import { ApiError } from './api-error.ts';
import type { FaultRule } from './fault-rules.ts';
import { knobsSchema } from './knobs.ts';
import type { AnexiaEmulator } from './options.ts';

export type Controls = Omit<
  AnexiaEmulator,
  'url' | 'adminUrl' | 'tokens' | 'loadBalancers' | 'close'
>;

export interface AdminDeps {
  readonly controls: Controls;
  readonly adminToken: string;
}

interface Id {
  id: string;
}

const stateBody = z.strictObject({ state: z.string().nullable() });
const fieldsBody = z.strictObject({ fields: z.record(z.string(), z.unknown()) });
const resourceBody = z.strictObject({
  name: z.string(),
  typeId: z.string(),
  tags: z.array(z.string()),
});

/** The emulator's own controls under `/_fake/v1`, for whoever holds the admin token. */
export function adminRoutes(app: FastifyInstance, { controls, adminToken }: AdminDeps): void {
  app.addHook('onRequest', async (request) => {
    if (request.url.split('?')[0]!.endsWith('/healthz')) return;
    const shown = request.headers['x-fake-admin'];
    if (typeof shown !== 'string' || !isSameSecret(shown, adminToken)) {
      throw new ApiError(401, 'Invalid admin token');
    }
  });
  app.get('/healthz', async () => ({ status: 'ok' }));
  app.get('/objects', async () => ({ objects: controls.objects() }));
  app.get('/complaints', async () => ({ complaints: controls.complaints() }));
  app.get<{ Querystring: { since?: string } }>('/requests', async ({ query: { since = '0' } }) => {
    if (!/^\d+$/.test(since)) throw new ApiError(422, 'since: give the seq of an entry, or 0');
    return { requests: controls.requests(Number(since)) };
  });
  app.get('/knobs', async () => controls.setKnobs({}));
  app.patch('/knobs', async (request) => controls.setKnobs(read(knobsSchema, request)));
  app.post<{ Params: Id }>('/objects/:id/state', async (request) => {
    mended(() => controls.setState(request.params.id, read(stateBody, request).state));
    return {};
  });
  app.patch<{ Params: Id }>('/objects/:id', async (request) => {
    mended(() => controls.setFields(request.params.id, read(fieldsBody, request).fields));
    return {};
  });
  app.post('/resources', async (request, reply) => {
    void reply.code(201);
    return { identifier: controls.addResource(read(resourceBody, request)) };
  });
  app.get('/faults', async () => ({ faults: controls.faults() }));
  app.post('/faults', async (request, reply) => {
    const rule = read(z.record(z.string(), z.unknown()), request);
    void reply.code(201);
    return checked(() => controls.addFault(rule as FaultRule));
  });
  app.delete('/faults', async (_request, reply) => {
    controls.clearFaults();
    return reply.code(204).send();
  });
  app.delete<{ Params: Id }>('/faults/:id', async ({ params }, reply) => {
    if (!controls.removeFault(params.id)) throw new ApiError(404, 'Not Found');
    return reply.code(204).send();
  });
}

/** @throws {ApiError} 400, 422. */
function read<T>(schema: z.ZodType<T>, { body }: FastifyRequest): T {
  let json: unknown;
  try {
    json = JSON.parse(String(body));
  } catch {
    throw new ApiError(400, 'The body is not JSON');
  }
  return checked(() => schema.parse(json));
}

function checked<T>(act: () => T): T {
  try {
    return act();
  } catch (error) {
    if (!(error instanceof z.ZodError)) throw error;
    const wrong = error.issues.map(({ path, message }) => [path.join('.') || 'body', message]);
    const validation = Object.fromEntries(wrong) as Record<string, string>;
    throw new ApiError(422, 'Validation failed', validation);
  }
}

function mended(act: () => void): void {
  try {
    act();
  } catch (error) {
    throw new ApiError(404, (error as Error).message);
  }
}
