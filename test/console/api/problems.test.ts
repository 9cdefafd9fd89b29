import { expect, test } from 'vitest';
import { PROBLEM_CODES, PROBLEMS } from '../../../src/console/api/problem.ts';
import { askApi, openConsole } from './console-stand.ts';

interface Body {
  readonly type: string;
  readonly status: number;
  readonly code: string;
  readonly detail: string;
  readonly instance: string;
}

test('V40: a problem has its media type, a code of the list, and a page at its type', async () => {
  const shown = await openConsole();
  const { status, headers, body } = await askApi<Body>(shown, 'pools/nowhere?x=1');
  expect([status, headers.get('content-type')]).toEqual([404, 'application/problem+json']);
  expect(body).toEqual({
    type: '/problems/not-found',
    title: PROBLEMS['not-found'].title,
    status: 404,
    detail: 'No pool is named nowhere',
    instance: '/api/v1/pools/nowhere',
    code: 'not-found',
  });
  const page = await fetch(new URL(body.type, shown.url));
  expect([page.status, await page.text()]).toEqual([
    200,
    expect.stringContaining('not-found, 404'),
  ]);
});

test('V40: every code of the list has its page', async () => {
  const { url } = await openConsole();
  for (const code of PROBLEM_CODES) {
    const page = await fetch(`${url}problems/${code}`);
    expect([page.status, await page.text()]).toEqual([
      200,
      expect.stringContaining(PROBLEMS[code].about),
    ]);
  }
  expect((await fetch(`${url}problems/nothing`)).status).toBe(404);
});

test('an unknown path is a problem too', async () => {
  const { status, body } = await askApi<Body>(await openConsole(), 'nothing');
  expect([status, body.code, body.instance]).toEqual([404, 'not-found', '/api/v1/nothing']);
});
