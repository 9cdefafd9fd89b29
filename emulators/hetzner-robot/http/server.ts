import type { IncomingMessage, ServerResponse } from 'node:http';
import fastify from 'fastify';
import type { Route } from '../core.ts';
import type { Pipeline } from './pipeline.ts';

const BODY_MAX_BYTES = 1024 * 1024;
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const;

export async function createRouter(
  routes: readonly Route[],
  pipeline: Pipeline,
): Promise<(request: IncomingMessage, response: ServerResponse) => void> {
  const app = fastify({ bodyLimit: BODY_MAX_BYTES, exposeHeadRoutes: false });
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'string' }, (_request, body, done) => done(null, body));
  for (const route of routes) {
    app.route({
      method: [...METHODS],
      url: route.path.replaceAll(/\{(\w+)\}/g, ':$1'),
      handler: (request, reply) => pipeline.run({ route, request, reply }),
    });
  }
  app.setNotFoundHandler((request, reply) => pipeline.run({ route: undefined, request, reply }));
  await app.ready();
  return (request, response) => app.routing(request, response);
}
