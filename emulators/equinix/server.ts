import fastify, { type FastifyInstance } from 'fastify';
import { createHostCheck } from '../../src/domain/host-header.ts';
import { ADMIN_PATH } from '../kit/admin.ts';
import type { Route } from './api/call.ts';
import type { EmulatorLog } from '../kit/log.ts';
import type { Pipeline } from './http/pipeline.ts';
import { ApiError, notFound } from './api/api-error.ts';
import { errorAnswer } from './http/admin-body.ts';
import { httpDate } from '../kit/outcome.ts';
import type { AdminDeps } from './http/admin-deps.ts';
import { adminRoutes } from './http/admin-routes.ts';

/** Enough for a world with tens of thousands of things in it. */
const BODY_MAX_BYTES = 64 * 1024 * 1024;

export interface ServerDeps {
  readonly basePath: string;
  readonly routes: readonly Route[];
  readonly pipeline: Pipeline;
  readonly admin: AdminDeps;
  readonly log: EmulatorLog;
  /** What it listens on. */
  readonly host: string;
}

const WRONG_NAME =
  'The emulator of Equinix does not answer under this name: use localhost or its address';

/** The HTTP server, not yet listening. Closing it ends every connection at once. */
export function createServer({
  basePath,
  routes,
  pipeline,
  admin,
  log,
  host,
}: ServerDeps): FastifyInstance {
  const app = fastify({
    bodyLimit: BODY_MAX_BYTES,
    exposeHeadRoutes: false,
    forceCloseConnections: true,
    return503OnClosing: false,
    routerOptions: { ignoreTrailingSlash: true },
  });
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'string' }, (_request, body, done) => done(null, body));
  app.addHook('onSend', (_request, reply, _payload, done) => {
    if (!reply.hasHeader('date')) reply.header('date', httpDate(admin.core.now()));
    done();
  });
  const isOwnName = createHostCheck([host]);
  app.addHook('onRequest', async (request) => {
    if (!isOwnName(request.headers.host)) throw new ApiError(421, [WRONG_NAME]);
  });
  app.setErrorHandler((error, _request, reply) => {
    const answer = errorAnswer(error);
    if (!answer) log.error({ err: error }, 'a request failed');
    const { status, body } = answer ?? { status: 500, body: { errors: ['Internal error'] } };
    return reply.code(status).send(body);
  });
  app.setNotFoundHandler((request, reply) => pipeline.refuse(notFound(), request, reply));
  for (const route of routes) {
    app.route({
      method: route.method,
      url: `${basePath}${urlOf(route.path)}`,
      handler: (request, reply) => pipeline.run(route, request, reply),
    });
  }
  for (const path of new Set(routes.map((route) => route.path))) {
    refuseOtherMethods(app, `${basePath}${urlOf(path)}`, allowed(routes, path), pipeline);
  }
  void app.register(async (scope) => adminRoutes(scope, admin), { prefix: ADMIN_PATH });
  return app;
}

const urlOf = (path: string) => path.replaceAll(/\{(\w+)\}/g, ':$1');
const allowed = (routes: readonly Route[], path: string): string[] =>
  routes.filter((route) => route.path === path).map((route) => route.method);

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const;

function refuseOtherMethods(
  app: FastifyInstance,
  url: string,
  methods: readonly string[],
  pipeline: Pipeline,
): void {
  app.route({
    method: METHODS.filter((method) => !methods.includes(method)),
    url,
    handler: (request, reply) => {
      void reply.header('allow', methods.join(', '));
      return pipeline.refuse(new ApiError(405, ['Method not allowed']), request, reply);
    },
  });
}
