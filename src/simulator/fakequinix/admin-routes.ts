import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import type { Controls } from './controls.ts';
import type { Core } from './core.ts';
import type { FaultRule } from './fault-rules.ts';
import type { DeviceState } from './state.ts';
import { ApiError, errorBody, invalid, notFound } from './api-error.ts';
import { readBody } from './call.ts';
import { addReservation } from './genesis.ts';
import { serialise } from './state.ts';
import { isProvisionable } from './views.ts';
import { parseWorld, WorldError, type World } from './world.ts';

export interface AdminDeps {
  readonly core: Core;
  readonly controls: Controls;
  /** Answers the new world's tokens and ids. */
  readonly reset: (world: World) => Promise<object>;
  readonly save: () => Promise<void>;
}

const deviceStates = [
  'queued',
  'provisioning',
  'post_provisioning',
  'active',
  'inactive',
  'powering_on',
  'powering_off',
  'reinstalling',
  'failed',
  'deprovisioning',
  'deleted',
] as const satisfies readonly DeviceState[];
const stateBody = z.strictObject({ state: z.enum(deviceStates) });
const advanceBody = z.strictObject({ ms: z.number().min(0) });
const reservationBody = z.strictObject({
  project: z.string().optional(),
  plan: z.string().optional(),
  facility: z.string().optional(),
});
const reservationPatch = z.strictObject({
  provisionable: z.boolean().optional(),
  spare: z.boolean().optional(),
  needOfService: z.boolean().optional(),
});

/** The emulator's own controls under `/_fake/v1`, for whoever holds the admin token. */
export function adminRoutes(app: FastifyInstance, deps: AdminDeps): void {
  const { core, controls } = deps;
  app.addHook('onRequest', async (request) => {
    if (request.url.split('?')[0]!.endsWith('/healthz')) return;
    if (request.headers['x-fake-admin'] !== core.state.adminToken) {
      throw new ApiError(401, ['Invalid admin token'], true);
    }
  });
  app.get('/healthz', async () => ({ status: 'ok' }));
  app.get('/state', async () => publicState(core));
  app.get('/invariants', async () => ({ violations: controls.violations() }));
  app.get('/clock', async () => ({ nowMs: core.now() }));
  app.post('/clock/advance', async (request) => {
    await controls.advance(readBody(advanceBody, bodyOf(request.body)).ms);
    return { nowMs: core.now() };
  });
  app.get<{ Querystring: { since?: string } }>('/requests', async ({ query }) => ({
    requests: controls.requests(Number(query.since ?? 0) || 0),
  }));
  app.get('/faults', async () => ({ faults: controls.faults() }));
  app.post('/faults', async (request, reply) => {
    void reply.code(201);
    return addFault(controls, bodyOf(request.body));
  });
  app.delete('/faults', async (_request, reply) => {
    controls.clearFaults();
    return reply.code(204).send();
  });
  app.delete<{ Params: Id }>('/faults/:id', async ({ params }, reply) => {
    if (!controls.removeFault(params.id)) throw notFound();
    return reply.code(204).send();
  });
  app.post('/reset', async (request) => deps.reset(worldOf(bodyOf(request.body))));
  worldRoutes(app, deps);
}

interface Id {
  id: string;
}

function worldRoutes(app: FastifyInstance, { core, controls, save }: AdminDeps): void {
  app.post<{ Params: Id }>('/devices/:id/state', async ({ params, body }) => {
    if (!core.state.devices.has(params.id)) throw notFound();
    controls.setDeviceState(params.id, readBody(stateBody, bodyOf(body)).state);
    await save();
    return { id: params.id, state: core.state.devices.get(params.id)?.state ?? 'deleted' };
  });
  app.post('/reservations', async (request, reply) => {
    const wanted = readBody(reservationBody, bodyOf(request.body));
    const problem = unknownReference(core, wanted);
    if (problem) throw invalid(problem);
    const reservation = addReservation(core.state, core.ids, wanted, core.now());
    core.changed();
    await save();
    void reply.code(201);
    return reservation;
  });
  app.patch<{ Params: Id }>('/reservations/:id', async ({ params, body }) => {
    const reservation = core.state.reservations.get(params.id);
    if (!reservation) throw notFound();
    Object.assign(reservation, readBody(reservationPatch, bodyOf(body)));
    core.changed();
    await save();
    return reservation;
  });
  app.post<{ Params: Id }>('/reservations/:id/snatch', async ({ params }, reply) => {
    const reservation = core.state.reservations.get(params.id);
    if (!reservation) throw notFound();
    if (!isProvisionable(reservation)) throw new ApiError(409, ['The reservation is not free']);
    const device = controls.snatch(params.id);
    await save();
    void reply.code(201);
    return device;
  });
}

function unknownReference({ state }: Core, wanted: z.output<typeof reservationBody>) {
  const { plans, facilities } = state.catalogue;
  const { project, plan, facility } = wanted;
  const projects = [...state.projects.values()];
  if (project && !projects.some((one) => one.id === project || one.name === project)) {
    return `project: unknown project "${project}"`;
  }
  if (plan && !plans.some((one) => one.slug === plan)) return `plan: unknown plan "${plan}"`;
  return facility && !facilities.some((one) => one.code === facility)
    ? `facility: unknown facility "${facility}"`
    : undefined;
}

/** The state without the tokens and the passwords. */
function publicState({ state }: Core): unknown {
  const {
    tokens: _tokens,
    adminToken: _admin,
    ...rest
  } = JSON.parse(serialise(state)) as Record<string, unknown>;
  const devices = (rest['devices'] as Record<string, unknown>[]).map(
    ({ rootPassword: _password, userdata: _userdata, customdata: _customdata, ...device }) =>
      device,
  );
  return { ...rest, devices };
}

function addFault(controls: Controls, rule: Record<string, unknown>) {
  try {
    return controls.addFault(rule as FaultRule);
  } catch (error) {
    if (!(error instanceof z.ZodError)) throw error;
    throw invalid(...error.issues.map((one) => `${one.path.join('.')}: ${one.message}`));
  }
}

function worldOf(body: Record<string, unknown>): World {
  try {
    return parseWorld(body);
  } catch (error) {
    if (error instanceof WorldError) throw invalid(...error.problems);
    throw error;
  }
}

function bodyOf(text: unknown): Record<string, unknown> {
  if (typeof text !== 'string' || text.trim() === '') return {};
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    throw new ApiError(400, ['The request body is not valid JSON']);
  }
  if (typeof body === 'object' && body !== null && !Array.isArray(body)) {
    return body as Record<string, unknown>;
  }
  throw invalid('The request body must be an object');
}

/** The answer to an error that a route or the framework threw. */
export function errorAnswer(error: unknown): { status: number; body: object } | undefined {
  if (error instanceof ApiError) return { status: error.status, body: errorBody(error) };
  const status =
    error instanceof Error && 'statusCode' in error ? Number(error.statusCode) : Number.NaN;
  return status >= 400 && status < 500
    ? { status, body: { errors: [(error as Error).message] } }
    : undefined;
}
