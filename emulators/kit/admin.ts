import fastify, { type FastifyInstance } from 'fastify';
import { z } from 'zod';
import { createHostCheck } from '../../src/lib/network.ts';
import { isSameSecret } from './same-secret.ts';

/** Path of an emulator's controls, on their own port or beside its API. */
export const ADMIN_PATH = '/_fake/v1';

/** A control's error with its status. */
export class AdminError extends Error {
  readonly statusCode: number;
  constructor(statusCode: number, message: string) {
    super(message);
    this.statusCode = statusCode;
  }
}

type MaybeLater<T> = T | Promise<T>;

/** The controls that emulators have in common. */
export interface CommonControls<Rule> {
  requests(since: number): readonly unknown[];
  /** Time of the emulator's clock, milliseconds. */
  now(): number;
  /** Rejects if the clock is not manual. */
  advance(ms: number): Promise<void>;
  faults(): readonly unknown[];
  /** @throws {z.ZodError} the rule is invalid. */
  addFault(rule: Rule): MaybeLater<unknown>;
  removeFault(id: string): MaybeLater<boolean>;
  clearFaults(): MaybeLater<void>;
}

export interface AdminDeps<Rule> {
  /** The emulator's name for people. */
  readonly name: string;
  readonly controls: CommonControls<Rule>;
  readonly token: string;
  /** What it listens on. */
  readonly host: string;
  /** Adds the controls of this emulator alone. */
  readonly routes: (app: FastifyInstance) => void;
}

/** An emulator's controls on their own port, for holders of the token. */
export function createAdmin<Rule>(deps: AdminDeps<Rule>): FastifyInstance {
  const { name, controls, token, host, routes } = deps;
  const app = fastify({ forceCloseConnections: true });
  // `curl` declares JSON even without a body.
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'string' }, async (_request: unknown, body: string) =>
    body.trim() === '' ? undefined : readJson(body),
  );
  const isOwnName = createHostCheck([host]);
  const wrongName = `${name} does not answer under this name: use localhost or its address`;
  app.addHook('onRequest', async ({ headers, url }) => {
    if (!isOwnName(headers.host)) throw new AdminError(421, wrongName);
    const shown = headers['x-fake-admin'];
    const isShown = typeof shown === 'string' && isSameSecret(shown, token);
    if (!isShown && url.split('?')[0] !== `${ADMIN_PATH}/healthz`)
      throw new AdminError(401, 'Wrong admin token');
  });
  app.setErrorHandler((error, _request, reply) => {
    const status = error instanceof z.ZodError ? 422 : (statusOf(error) ?? 500);
    return reply.code(status).send({ error: messageOf(error) });
  });
  app.setNotFoundHandler(async ({ method, url }) => {
    throw new AdminError(404, `there is no ${method} ${url}`);
  });
  const all = async (scope: FastifyInstance) => {
    commonRoutes(scope, controls);
    routes(scope);
  };
  void app.register(all, { prefix: ADMIN_PATH });
  return app;
}

/** @throws {AdminError} 400. */
function readJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new AdminError(400, 'the body is not JSON');
  }
}

const statusOf = (error: unknown): number | undefined =>
  error instanceof Error && 'statusCode' in error ? Number(error.statusCode) : undefined;

const messageOf = (error: unknown): string => {
  if (!(error instanceof z.ZodError)) return (error as Error).message;
  return error.issues
    .map(({ path, message }) => `${path.join('.') || 'body'}: ${message}`)
    .join('; ');
};

/** Runs a caller's request, and answers errors with this status. @throws {AdminError} */
export function orRefuse(statusCode: number, act: () => void): void {
  try {
    act();
  } catch (error) {
    throw new AdminError(statusCode, (error as Error).message);
  }
}

/** A hundred years; dates end later. */
const ADVANCE_MAX_MS = 100 * 366 * 86_400_000;
const advanceBody = z.strictObject({ ms: z.number().min(0).max(ADVANCE_MAX_MS) });

function commonRoutes<Rule>(app: FastifyInstance, controls: CommonControls<Rule>): void {
  const clock = () => ({ now: new Date(controls.now()).toISOString() });
  app.get('/healthz', async () => ({ status: 'ok' }));
  app.get<{ Querystring: { since?: string } }>('/requests', async ({ query: { since = '0' } }) => {
    if (!/^\d+$/.test(since)) throw new AdminError(422, 'since: give the seq of an entry, or 0');
    return { requests: controls.requests(Number(since)) };
  });
  app.get('/clock', async () => clock());
  app.post('/clock/advance', async ({ body }) => {
    const { ms } = advanceBody.parse(body);
    await controls.advance(ms).catch((error: unknown) => {
      throw new AdminError(409, (error as Error).message);
    });
    return clock();
  });
  app.get('/faults', async () => ({ faults: controls.faults() }));
  app.post('/faults', async ({ body }, reply) => {
    const fault = await controls.addFault(body as Rule);
    void reply.code(201);
    return fault;
  });
  app.delete('/faults', async (_request, reply) => {
    await controls.clearFaults();
    return reply.code(204).send();
  });
  app.delete<{ Params: { id: string } }>('/faults/:id', async ({ params: { id } }, reply) => {
    if (!(await controls.removeFault(id))) throw new AdminError(404, `no fault ${id}`);
    return reply.code(204).send();
  });
}
