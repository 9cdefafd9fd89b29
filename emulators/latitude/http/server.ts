import fastify, { type FastifyInstance } from 'fastify';
import { createHostCheck } from '../../../src/domain/host-header.ts';
import { httpDate } from '../../kit/outcome.ts';
import { ApiError, errorBody, refusal } from '../api/api-error.ts';
import type { Core, Route } from '../core.ts';
import { DOCUMENT_TYPE, type Pipeline } from './pipeline.ts';

const BODY_MAX_BYTES = 1024 * 1024;
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const;
const WRONG_NAME =
  'The emulator of Latitude.sh does not answer under this name: use localhost or its address';

/** The HTTP server of the API, not yet listening. Closing it ends every connection at once. */
export function createServer(
  { clock, log }: Core,
  routes: readonly Route[],
  pipeline: Pipeline,
  host: string,
): FastifyInstance {
  const app = fastify({
    bodyLimit: BODY_MAX_BYTES,
    exposeHeadRoutes: false,
    forceCloseConnections: true,
    return503OnClosing: false,
  });
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'string' }, (_request, body, done) => done(null, body));
  const isOwnName = createHostCheck([host]);
  app.addHook('onRequest', async (request) => {
    if (!isOwnName(request.headers.host)) throw refusal(421, 'MISDIRECTED', WRONG_NAME);
  });
  app.setErrorHandler((error, _request, reply) => {
    const { status, problems } = errorOf(error);
    if (status === 500) log.error({ err: error }, 'a request failed');
    const body = JSON.stringify(errorBody(status, problems));
    return reply.code(status).type(DOCUMENT_TYPE).header('date', httpDate(clock.now())).send(body);
  });
  app.setNotFoundHandler((request, reply) =>
    pipeline.refuse(refusal(404, 'not_found', 'No such path'), request, reply),
  );
  for (const path of new Set(routes.map((route) => route.path))) {
    const url = path.replaceAll(/\{(\w+)\}/g, ':$1');
    const here = routes.filter((route) => route.path === path);
    for (const route of here) {
      const { method } = route;
      app.route({ method, url, handler: (request, reply) => pipeline.run(route, request, reply) });
    }
    const others = METHODS.filter((method) => !here.some((route) => route.method === method));
    const refused = refusal(405, 'METHOD_NOT_ALLOWED', 'Method not allowed');
    app.route({
      method: others,
      url,
      handler: (request, reply) => pipeline.refuse(refused, request, reply),
    });
  }
  return app;
}

function errorOf(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  const status = error instanceof Error && 'statusCode' in error ? Number(error.statusCode) : 500;
  const isTheirs = status >= 400 && status < 500;
  return isTheirs
    ? refusal(status, 'BAD_REQUEST', (error as Error).message)
    : refusal(500, 'INTERNAL_SERVER_ERROR', 'Internal Server Error');
}
