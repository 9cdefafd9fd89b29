import Fastify from 'fastify';
import { expect, test } from 'vitest';
import { createJudge, type SentAnswer } from './judge.ts';
import { takeProblems } from './setup.ts';

const VERSION: SentAnswer = {
  ...{ method: 'GET', route: '/api/v1/logins', status: 200, mediaType: 'application/json' },
  body: '{"logins":[]}',
};
const problem = { type: '/problems/x', title: 't', status: 404, detail: 'd', instance: '/x' };

test.each<[string, Partial<SentAnswer>, RegExp | null]>([
  ['as described', {}, null],
  ['of another shape', { body: '{"logins":[{"id":7}]}' }, /logins\/0/],
  ['with more than is described', { body: '{"logins":[],"secret":"x"}' }, /additional properties/],
  ['of an unlisted route', { route: '/api/v1/nothing' }, /no such route/],
  ['of an unlisted method', { method: 'PUT' }, /no such route/],
  ['of another kind', { mediaType: 'text/json' }, /not described/],
  ['that is an error and no problem', { status: 404 }, /no problem/],
  [
    'that is a problem with an unknown code',
    {
      ...{ status: 404, mediaType: 'application/problem+json' },
      body: JSON.stringify({ ...problem, code: 'unheard-of' }),
    },
    /code/,
  ],
])('V37: judges an answer %s', (_what, change, expected) => {
  const problems = createJudge()({ ...VERSION, ...change });
  if (expected === null) expect(problems).toEqual([]);
  else expect(problems).toEqual([expect.stringMatching(expected)]);
});

test('V37: hears every answer of a server in a test, and fails that test for an unlisted route', async () => {
  const app = Fastify();
  app.get('/api/v1/secrets', async () => ({ all: [] }));
  await app.inject({ url: '/api/v1/secrets' });
  await app.close();
  expect(await takeProblems()).toEqual([
    expect.stringContaining('/api/v1/secrets 200: no such route'),
  ]);
});
