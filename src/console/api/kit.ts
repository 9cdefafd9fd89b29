import swagger from '@fastify/swagger';
import type { FastifyBaseLogger, FastifyInstance, RawServerDefault } from 'fastify';
import {
  createJsonSchemaTransform,
  createJsonSchemaTransformObject,
  serializerCompiler,
  validatorCompiler,
  type ZodTypeProvider,
} from 'fastify-type-provider-zod';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { ProblemSchema, SCHEMAS } from './schemas.ts';
import { PROBLEM_MEDIA_TYPE } from './problem.ts';

/** Where every route of the API begins. */
export const API = '/api/v1';

/** The part of the console's server in which schemas are zod's. */
export type Api = FastifyInstance<
  RawServerDefault,
  IncomingMessage,
  ServerResponse,
  FastifyBaseLogger,
  ZodTypeProvider
>;

const TAGS = ['fleet', 'machines', 'requests', 'providers', 'guard', 'pools', 'console'] as const;

const ABOUT =
  `What the console shows and takes in. Times are whole epoch milliseconds of the database's
clock. Errors are RFC 9457 problems with a \`code\` of a closed list.`.replaceAll('\n', ' ');

/**
 * Prepares a scope of the server for the API: schemas by zod, their description as OpenAPI, and no
 * route without a right and schemas of its answers.
 */
export async function prepareApi(scope: FastifyInstance): Promise<void> {
  scope.setValidatorCompiler(validatorCompiler);
  scope.setSerializerCompiler(serializerCompiler);
  scope.addHook('onRoute', ({ url, method, schema, config }) => {
    if (method === 'HEAD') return;
    const route = `${String(method)} ${url}`;
    if (config?.right === undefined) throw new Error(`${route} names no right`);
    if (!schema?.response || !schema.tags) throw new Error(`${route} lacks tags or schemas`);
    Object.assign(schema.response, {
      default: {
        description: 'A problem.',
        content: { [PROBLEM_MEDIA_TYPE]: { schema: ProblemSchema } },
      },
    });
  });
  const registry = { schemaRegistry: SCHEMAS };
  const named = createJsonSchemaTransformObject(registry);
  await scope.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: { title: 'Shepherd', version: '1', description: ABOUT },
      tags: TAGS.map((name) => ({ name })),
    },
    transform: createJsonSchemaTransform(registry),
    transformObject: (document) => withoutUnused(named(document)),
  });
}

interface Described {
  readonly components?: { readonly schemas?: Readonly<Record<string, object>> };
  readonly paths?: object;
}

/** Each named schema is described as it comes in and as it goes out; only what is referred to stays. */
function withoutUnused<Document extends object>(document: Document): Document {
  const { components, paths } = document as Described;
  const schemas = components?.schemas ?? {};
  const used: Record<string, object> = {};
  const add = (part: unknown) => {
    for (const [, name] of JSON.stringify(part).matchAll(/"#\/components\/schemas\/(\w+)"/g)) {
      if (name === undefined || used[name]) continue;
      used[name] = schemas[name]!;
      add(schemas[name]);
    }
  };
  add(paths);
  return { ...document, components: { schemas: used } };
}
