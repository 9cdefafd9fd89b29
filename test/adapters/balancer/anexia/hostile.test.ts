import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { once } from 'node:events';
import { expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../../../src/adapters/clock/system-clock.ts';
import { engineDriver } from '../../../support/engine-driver.ts';
import { testRows } from '../../../support/rows.ts';
import { live, OWNER, TAG } from './stand.ts';

const RESOURCES = '/api/core/v1/resource.json';
const json = (response: ServerResponse, body: unknown, status = 200, type = 'application/json') => {
  response.writeHead(status, { 'content-type': type });
  response.end(typeof body === 'string' ? body : JSON.stringify(body));
};
const row = (identifier: string, tags = [TAG]) => ({
  identifier,
  name: `${identifier}.api.eu`,
  resource_type: { identifier: '33164a3066a04a52be43c607f0c5dd8c', name: 'backend' },
  tags,
});
const backend = (identifier: string) => ({
  identifier,
  name: `${identifier}.api.eu`,
  mode: 'tcp',
  health_check: '"adv_check": "tcp-check"',
  load_balancer: { identifier: 'lb', name: 'lb' },
  state: { id: '3', title: 'Deployed', type: 1 },
});
const EMPTY = { page: 9, total_pages: 0, total_items: 0, limit: 2, data: [] };

type HostileHandler = (url: URL, response: ServerResponse, request: IncomingMessage) => void;

/** A server that returns the given answer, or else "not found". */
async function createLiar(answer: (url: URL) => HostileHandler | undefined) {
  const requests: string[] = [];
  const server = createServer((request, response) => {
    const url = new URL(request.url!, 'http://x');
    requests.push(`${request.method} ${url.pathname}`);
    const own = answer(url);
    if (own) return own(url, response, request);
    if (url.pathname.includes('loadbalancer')) return json(response, { identifier: 'lb' });
    return json(response, { ...EMPTY, page: Number(url.searchParams.get('page')) });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const balancer = engineDriver(
    { url, token: 'secret-token', loadBalancers: ['lb'] },
    { clock: systemClock },
    2,
  );
  onTestFinished(async () => {
    await balancer.close();
    server.closeAllConnections();
    server.close();
  });
  const observe = () => balancer.observe(OWNER, { signal: live });
  return { observe, balancer, requests };
}

const isSearch = ({ pathname }: URL) => pathname === RESOURCES;
const pageOf = (url: URL) => Number(url.searchParams.get('page'));
const paged = (url: URL, data: readonly unknown[], total = data.length) => ({
  page: pageOf(url),
  total_pages: 1,
  total_items: total,
  limit: 2,
  data,
});

const telling =
  (bodyAt: (url: URL) => unknown): HostileHandler =>
  (url, response) =>
    json(response, bodyAt(url));

testRows<readonly [name: string, answer: HostileHandler, told: RegExp]>([
  [
    'lists what has not the tag, as if it were not asked for one',
    telling((url) => paged(url, pageOf(url) === 1 ? [row('a', ['x'])] : [], 1)),
    /a is listed, but does not have the tag/,
  ],
  ['gives the same page for ever', telling(() => [row('a')]), /page 2 has nothing new/],
  [
    'gives another page than was asked for',
    telling(() => ({ ...EMPTY, page: 3 })),
    /page 1 was requested, but page 3 came/,
  ],
  [
    'counts more than it gives',
    telling((url) => paged(url, pageOf(url) === 1 ? [row('a')] : [], 2)),
    /changed during each/,
  ],
  ['names no identifier in a row', telling(() => [{ name: 'x' }]), /malformed/],
  ['says no in a success', telling(() => ({ error: { message: 'no' } })), /contains errors: no/],
  [
    'answers with a page',
    (_url, response) => json(response, '<h1>hello</h1>', 200, 'text/html'),
    /not JSON/,
  ],
  [
    'redirects',
    (_url, response) => void response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end(),
    /redirect/,
  ],
])('does not believe a server that %s', async (_name, answer, told) => {
  const { observe, requests } = await createLiar((url) => (isSearch(url) ? answer : undefined));
  const failure = await observe().then(
    () => expect.unreachable('it has to fail'),
    (error: unknown) => error as Error & { code: string },
  );
  expect(failure.code).toBe('malformed');
  expect((failure.cause as Error).message).toMatch(told);
  expect(requests.every((one) => one.startsWith('GET'))).toBe(true);
});

test('reads an answer without a type as JSON, also a not-found', async () => {
  const untyped = (response: ServerResponse, status: number, body: object) => {
    response.writeHead(status);
    response.end(JSON.stringify(body));
  };
  const { observe } = await createLiar((url) => {
    if (isSearch(url)) {
      return (_url, response) =>
        untyped(response, 200, pageOf(url) === 1 ? [row('a'), row('b')] : []);
    }
    if (url.pathname.endsWith('/a')) {
      return (_url, response) => untyped(response, 404, { error: { code: 404, message: 'gone' } });
    }
    if (url.pathname.endsWith('/b'))
      return (_url, response) => untyped(response, 200, backend('b'));
    return undefined;
  });
  expect((await observe()).map(({ ref }) => ref.id)).toEqual(['b']);
});

test('reads a list again that moved while it was read', async () => {
  let walks = 0;
  const { observe } = await createLiar((url) => {
    if (!isSearch(url)) {
      return url.pathname.endsWith('/a') || url.pathname.endsWith('/b')
        ? (_url, response) => json(response, backend(url.pathname.slice(-1)))
        : undefined;
    }
    if (pageOf(url) === 1) walks++;
    const isShifted = walks === 1;
    return (_url, response) => {
      if (pageOf(url) === 1) return json(response, paged(url, [row('a')], 2));
      return json(response, paged(url, pageOf(url) === 2 && !isShifted ? [row('b')] : [], 2));
    };
  });
  expect((await observe()).map(({ ref }) => ref.id)).toEqual(['a', 'b']);
  expect(walks).toBe(2);
});

test('does not read the answer to a deletion', async () => {
  const { balancer } = await createLiar((url) =>
    url.pathname.endsWith('/b')
      ? (_url, response) => json(response, 'OK', 200, 'text/plain')
      : undefined,
  );
  await balancer.destroy({ kind: 'backend', id: 'b' }, OWNER, { signal: live });
});

test('looks for an object whose creation was answered without a name', async () => {
  let made = false;
  const { balancer, requests } = await createLiar((url) => {
    if (url.pathname.endsWith('/backend.json')) {
      return (_url, response, request) => {
        if (request.method === 'POST') {
          made = true;
          return json(response, {});
        }
        return json(
          response,
          made && pageOf(url) === 1 ? [{ identifier: 'n', name: 'n.api.eu' }] : [],
        );
      };
    }
    if (url.pathname.endsWith('/backend.json/n'))
      return (_url, response) => json(response, backend('n'));
    if (url.pathname.includes('/tags/')) return (_url, response) => json(response, '', 200);
    return url.pathname.endsWith(`${RESOURCES}/n`)
      ? (_url, response) => json(response, { ...row('n', []), tags: [] })
      : undefined;
  });
  const spec = { kind: 'backend', name: 'n.api.eu', check: { by: 'tcp' } } as const;
  const ref = await balancer.create({ spec, port: 'n' }, null, OWNER, { signal: live });
  expect(ref).toEqual({ kind: 'backend', id: 'n' });
  expect(requests.filter((one) => one === 'POST /api/LBaaS/v1/backend.json')).toHaveLength(1);
});
