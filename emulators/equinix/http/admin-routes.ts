import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import type { Controls } from '../controls.ts';
import type { Core } from '../core.ts';
import type { FaultRule } from '../fault-rules.ts';
import { isSameSecret } from '../../kit/same-secret.ts';
import { ApiError, invalid, notFound } from '../api/api-error.ts';
import { readBody } from '../api/call.ts';
import { NOT_MANUAL } from '../controls.ts';
import { given, knobsSchema } from '../state/knobs.ts';
import { serialise } from '../state/state-text.ts';
import { parseWorld, WorldError, type World } from '../world.ts';
import { bodyOf } from './admin-body.ts';
import { maskSecrets } from '../../kit/journal.ts';
import type { AdminDeps } from './admin-deps.ts';
import { adminWorldRoutes } from './admin-world.ts';

const advanceBody = z.strictObject({ ms: z.number().min(0) });
interface Id {
  id: string;
}

/** The emulator's own controls under `/_fake/v1`, for whoever holds the admin token. */
export function adminRoutes(app: FastifyInstance, deps: AdminDeps): void {
  const { core, controls } = deps;
  app.addHook('onRequest', async (request) => {
    if (request.url.split('?')[0]!.endsWith('/healthz')) return;
    const shown = request.headers['x-fake-admin'];
    if (typeof shown !== 'string' || !isSameSecret(shown, core.state.adminToken)) {
      throw new ApiError(401, ['Invalid admin token'], true);
    }
  });
  app.get('/healthz', async () => ({ status: 'ok' }));
  app.get('/state', async () => publicState(core));
  app.get('/invariants', async () => ({ violations: controls.violations() }));
  app.get<{ Querystring: { since?: string } }>('/requests', async ({ query }) => ({
    requests: controls.requests(sinceOf(query.since)),
  }));
  app.post('/reset', async (request) => deps.reset(worldOf(bodyOf(request))));
  clockRoutes(app, deps);
  faultRoutes(app, deps);
  knobRoutes(app, deps);
  adminWorldRoutes(app, deps);
}

function clockRoutes(app: FastifyInstance, { core, controls, isManual }: AdminDeps): void {
  const shown = () => ({ nowMs: core.now(), mode: isManual ? 'manual' : 'real' });
  app.get('/clock', async () => shown());
  app.post('/clock/advance', async (request) => {
    const { ms } = readBody(advanceBody, bodyOf(request));
    if (!isManual) throw new ApiError(409, [NOT_MANUAL]);
    await controls.advance(ms);
    return shown();
  });
}

function faultRoutes(app: FastifyInstance, { controls, save }: AdminDeps): void {
  app.get('/faults', async () => ({ faults: controls.faults() }));
  app.post('/faults', async (request, reply) => {
    const fault = addFault(controls, bodyOf(request));
    await save();
    void reply.code(201);
    return fault;
  });
  app.delete('/faults', async (_request, reply) => {
    controls.clearFaults();
    await save();
    return reply.code(204).send();
  });
  app.delete<{ Params: Id }>('/faults/:id', async ({ params }, reply) => {
    if (!controls.removeFault(params.id)) throw notFound();
    await save();
    return reply.code(204).send();
  });
}

function knobRoutes(app: FastifyInstance, { core, save }: AdminDeps): void {
  app.get('/knobs', async () => core.knobs);
  app.patch('/knobs', async (request) => {
    const parsed = knobsSchema.safeParse(bodyOf(request));
    if (!parsed.success) throw invalid(...messagesOf(parsed.error));
    Object.assign(core.state.knobs, given(parsed.data));
    core.applySettings();
    core.changed();
    await save();
    return core.knobs;
  });
}

const messagesOf = ({ issues }: z.ZodError) =>
  issues.map((one) => `${one.path.join('.')}: ${one.message}`);

/** The state without what is secret: tokens, passwords, user data. */
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
  return { ...rest, devices, faults: maskSecrets(rest['faults']) };
}

/** The `seq` after which entries are wanted. */
function sinceOf(text = '0'): number {
  if (!/^\d+$/.test(text)) throw invalid('since: give the seq of a journal entry, or 0');
  return Number(text);
}

function addFault(controls: Controls, rule: Record<string, unknown>) {
  try {
    return controls.addFault(rule as FaultRule);
  } catch (error) {
    if (!(error instanceof z.ZodError)) throw error;
    throw invalid(...messagesOf(error));
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
