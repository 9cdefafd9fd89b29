import type { IncomingMessage, ServerResponse } from 'node:http';
import fastify from 'fastify';
import type { Resource } from './core.ts';
import type { Pipeline } from './pipeline.ts';
import type { Bmc } from './world.ts';

const BODY_MAX_BYTES = 1024 * 1024;
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const;

export type Serve = (bmc: Bmc, request: IncomingMessage, response: ServerResponse) => void;

/** One router for all BMCs; each of them has a door of its own to it. */
export async function createServer(
  resources: readonly Resource[],
  pipeline: Pipeline,
): Promise<Serve> {
  const bmcs = new WeakMap<IncomingMessage, Bmc>();
  const app = fastify({
    bodyLimit: BODY_MAX_BYTES,
    exposeHeadRoutes: false,
    routerOptions: { ignoreTrailingSlash: true },
  });
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'string' }, (_request, body, done) => done(null, body));
  const bmcOf = (request: IncomingMessage): Bmc => {
    const bmc = bmcs.get(request);
    if (!bmc) throw new Error('a request came through no door');
    return bmc;
  };
  for (const resource of resources) {
    app.route({
      method: [...METHODS],
      url: resource.path.replaceAll(/\{(\w+)\}/g, ':$1'),
      handler: (request, reply) =>
        pipeline.run({ bmc: bmcOf(request.raw), resource, request, reply }),
    });
  }
  app.setNotFoundHandler((request, reply) =>
    pipeline.run({ bmc: bmcOf(request.raw), resource: undefined, request, reply }),
  );
  await app.ready();
  return (bmc, request, response) => {
    bmcs.set(request, bmc);
    app.routing(request, response);
  };
}
