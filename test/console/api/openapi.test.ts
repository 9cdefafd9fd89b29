import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Validator } from '@seriousme/openapi-schema-validator';
import Fastify from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { format, resolveConfig } from 'prettier';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { describeApi } from '../../../src/console/api/api.ts';
import { prepareApi } from '../../../src/console/api/kit.ts';
import { promisesOf, type Description } from '../../../scripts/api-promises.ts';
import { root } from '../../repo/sources.ts';
import { testRows } from '../../support/rows.ts';

const FILE = join(root, 'generated/openapi.json');

test('V37: openapi.json matches the routes', async () => {
  const made = await format(await describeApi(), {
    ...(await resolveConfig(FILE)),
    parser: 'json',
  });
  expect(readFileSync(FILE, 'utf8')).toBe(made);
});

test('V37: openapi.json is valid OpenAPI 3.1', async () => {
  const validator = new Validator();
  const { valid, errors } = await validator.validate(readFileSync(FILE, 'utf8'));
  expect(errors).toBeUndefined();
  expect([valid, validator.version]).toEqual([true, '3.1']);
});

const schema = { tags: ['machines'], summary: 'A test', response: { 200: z.object({}) } };
const right = 'see' as const;

testRows([
  ['no schema', { config: { right } }, 'GET /x lacks tags or schemas'],
  ['no schema of its answers', { config: { right }, schema: {} }, 'GET /x lacks tags or schemas'],
  ['no right', { schema }, 'GET /x names no right'],
])('V37: refuses a route with %s when the server starts', async (_what, options, expected) => {
  const app = Fastify();
  await prepareApi(app);
  const add = () => app.withTypeProvider<ZodTypeProvider>().get('/x', options, async () => ({}));
  expect(add).toThrow(expected);
  await app.close();
});

test('V37: describes every route of the API', async () => {
  const app = Fastify();
  await prepareApi(app);
  app.get('/x', { config: { right }, schema }, async () => ({}));
  await app.ready();
  expect(Object.keys(app.swagger().paths ?? {})).toEqual(['/x']);
  await app.close();
});

const described = () => JSON.parse(readFileSync(FILE, 'utf8')) as Description;
const promised = () => {
  const text = readFileSync(join(root, 'generated/promised.txt'), 'utf8');
  return text.split('\n').filter(Boolean);
};

test('V38: removes or narrows nothing that was promised', () => {
  const told = new Set(promisesOf(described()));
  expect(promised().filter((line) => !told.has(line))).toEqual([]);
});

type Paths = Record<string, Record<string, { parameters: object[]; responses: object }>>;
const listOf = (paths: Paths) => paths['/api/v1/requests']!['get']!;

test.each<[string, (paths: Paths) => unknown, RegExp]>([
  ['a route', (paths) => delete paths['/api/v1/version'], /^GET \/api\/v1\/version$/],
  ['a method', (paths) => delete paths['/api/v1/tokens']!['post'], /^POST \/api\/v1\/tokens$/],
  ['a parameter', (paths) => listOf(paths).parameters.pop(), /^GET \/api\/v1\/requests query/],
  [
    'that nothing is demanded',
    (paths) => Object.assign(listOf(paths).parameters[0]!, { required: true }),
    /^GET \/api\/v1\/requests demands nothing$/,
  ],
  [
    'a value that is taken',
    (paths) => {
      const { schema } = listOf(paths).parameters.at(-1) as { schema: { enum: string[] } };
      schema.enum.pop();
    },
    /^GET \/api\/v1\/requests query \w+ may be/,
  ],
  [
    'what is answered',
    (paths) => Object.assign(listOf(paths), { responses: {} }),
    /^GET \/api\/v1\/requests answers 200/,
  ],
])('V38: detects that %s is gone', (_what, change, expected) => {
  const description = described();
  change(description.paths as unknown as Paths);
  const left = new Set(promisesOf(description));
  const gone = promised().filter((line) => !left.has(line));
  expect(gone).toContainEqual(expect.stringMatching(expected));
});

test('V38: accepts additions to what was promised', () => {
  const description = described();
  const { parameters } = listOf(description.paths as unknown as Paths);
  parameters.push({ in: 'query', name: 'colour', required: false, schema: { type: 'string' } });
  const left = new Set(promisesOf(description));
  expect(promised().filter((line) => !left.has(line))).toEqual([]);
});
