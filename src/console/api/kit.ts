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
import { z } from 'zod';
import type { Clock } from '../../adapters/clock/port.ts';
import type { Right } from '../access/port.ts';
import { ProblemSchema, SCHEMAS } from './schemas.ts';
import { PROBLEM_MEDIA_TYPE } from './problem.ts';

/** Prefix of all API routes. */
export const API = '/api/v1';

/** The part of the console's server whose schemas are zod's. */
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

type Tag = (typeof TAGS)[number];
type RequestParts = Readonly<
  Partial<Record<'params' | 'querystring' | 'body' | 'headers', z.ZodType>>
>;
type Described<Responses extends Readonly<Record<number, unknown>>, Given extends RequestParts> = {
  readonly config: { readonly right: Right | 'open' };
  readonly schema: Given & { tags: Tag[]; summary: string; response: Responses };
};

/** What a route demands and answers. @param given the parts of a request. */
export const described = <
  const Responses extends Readonly<Record<number, unknown>>,
  Given extends RequestParts = object,
>(
  right: Right | 'open',
  [tag, summary]: readonly [tag: Tag, summary: string],
  response: Responses,
  given = {} as Given,
): Described<Responses, Given> => ({
  config: { right },
  schema: { ...given, tags: [tag], summary, response },
});

export const eventStream = (description: string) => ({
  description,
  content: { 'text/event-stream': { schema: z.string() } },
});

/** A route for everybody who may look. */
export const read = <Result extends z.ZodType, Given extends RequestParts = object>(
  tag: Tag,
  summary: string,
  answer: Result,
  given?: Given,
): Described<{ readonly 200: Result }, Given> =>
  described('see', [tag, summary], { 200: answer }, given);

/** A route that acts and returns nothing. */
export const act = <Given extends RequestParts>(
  right: Right,
  tag: Tag,
  summary: string,
  given: Given,
) => described(right, [tag, summary], { 204: z.null() }, given);

/**
 * Prepares a scope of the server for the API with zod schemas and their OpenAPI description.
 * Rejects routes without a right or without response schemas.
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

interface Document {
  readonly components?: { readonly schemas?: Readonly<Record<string, object>> };
  readonly paths?: object;
}

/** Each named schema is described as input and as output; keeps only those that are referred to. */
function withoutUnused<Whole extends object>(document: Whole): Whole {
  const { components, paths } = document as Document;
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

/**
 * Shares one look-up among all callers within `freshMs`, so that many readers cost no more. The
 * next caller repeats a failed look-up. No single reader's end aborts it.
 */
export function sharedLook<Result>(
  { monotonic }: Pick<Clock, 'monotonic'>,
  freshMs: number,
  look: (signal: AbortSignal) => Promise<Result>,
): () => Promise<Result> {
  let last: { readonly atMs: number; readonly answer: Promise<Result> } | null = null;
  return () => {
    if (last !== null && monotonic() - last.atMs < freshMs) return last.answer;
    const begun = { atMs: monotonic(), answer: look(new AbortController().signal) };
    last = begun;
    begun.answer.catch(() => {
      if (last === begun) last = null;
    });
    return begun.answer;
  };
}
