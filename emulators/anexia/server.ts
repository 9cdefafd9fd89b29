import fastify, { type FastifyInstance } from 'fastify';
import { createHostCheck } from '../../src/domain/host-header.ts';
import { ADMIN_PATH } from '../kit/admin.ts';
import { httpDate } from '../kit/outcome.ts';
import { type AdminDeps, adminRoutes } from './admin-routes.ts';
import { ApiError, errorBody } from './api-error.ts';
import type { Core, Route } from './core.ts';
import type { Pipeline } from './pipeline.ts';

const BODY_MAX_BYTES = 1024 * 1024;

export interface ServerDeps {
  readonly core: Core;
  readonly routes: readonly Route[];
  readonly pipeline: Pipeline;
  readonly admin: AdminDeps;
  /** What it listens on. */
  readonly host: string;
}

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const;

/** The HTTP server, not yet listening. Closing it ends every connection at once. */
export function createServer(deps: ServerDeps): FastifyInstance {
  const { core, routes, pipeline, admin, host } = deps;
  const app = fastify({
    bodyLimit: BODY_MAX_BYTES,
    exposeHeadRoutes: false,
    forceCloseConnections: true,
    return503OnClosing: false,
  });
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'string' }, (_request, body, done) => done(null, body));
  app.addHook('onSend', (_request, reply, _payload, done) => {
    if (!reply.hasHeader('date')) reply.header('date', httpDate(core.world.now()));
    done();
  });
  const isOwnName = createHostCheck([host]);
  app.addHook('onRequest', async (request) => {
    if (!isOwnName(request.headers.host)) throw new ApiError(421, WRONG_NAME);
  });
  app.setErrorHandler((error, _request, reply) => {
    const { status, message, validation } = answerTo(error);
    if (status === 500) core.log.error({ err: error }, 'a request failed');
    return reply.code(status).send(errorBody(status, message, validation));
  });
  app.setNotFoundHandler((request, reply) =>
    pipeline.refuse(new ApiError(404, 'Not Found'), request, reply),
  );
  for (const path of new Set(routes.map((route) => route.path))) {
    const url = path.replaceAll(/\{(\w+)\}/g, ':$1');
    const here = routes.filter((route) => route.path === path);
    for (const route of here) {
      const { method } = route;
      app.route({ method, url, handler: (request, reply) => pipeline.run(route, request, reply) });
    }
    const others = METHODS.filter((method) => !here.some((route) => route.method === method));
    const refusal = new ApiError(405, 'Method Not Allowed');
    app.route({
      method: others,
      url,
      handler: (request, reply) => pipeline.refuse(refusal, request, reply),
    });
  }
  void app.register(async (scope) => adminRoutes(scope, admin), { prefix: ADMIN_PATH });
  return app;
}

const WRONG_NAME =
  'The emulator of the Anexia Engine does not answer under this name: use localhost or its address';

function answerTo(error: unknown): Pick<ApiError, 'status' | 'message' | 'validation'> {
  if (error instanceof ApiError) return error;
  const status = error instanceof Error && 'statusCode' in error ? Number(error.statusCode) : 500;
  const isTheirs = status >= 400 && status < 500;
  const message = isTheirs ? (error as Error).message : 'Internal Server Error';
  return { status: isTheirs ? status : 500, message, validation: {} };
}
