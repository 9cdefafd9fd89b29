import { describe, expect, onTestFinished, test } from 'vitest';
import { createManualClock } from '../../../src/simulator/fakequinix/time/clock.ts';
import { startFakengine } from '../../../src/simulator/fakengine/fakengine.ts';
import type { FakengineOptions } from '../../../src/simulator/fakengine/options.ts';

const LBAAS = '/api/LBaaS/v1';
const RESOURCES = '/api/core/v1/resource.json';

interface Reply {
  readonly status: number;
  readonly body: Record<string, unknown>;
  readonly headers: Headers;
}

async function start(options: Partial<FakengineOptions> = {}) {
  const fake = await startFakengine({ listen: { host: '127.0.0.1', port: 0 }, ...options });
  onTestFinished(() => fake.close());
  const [lb = '', other = ''] = fake.loadBalancers;
  const usual = {
    authorization: `Token ${fake.tokens.api}`,
    'content-type': 'application/json',
    'user-agent': 'test',
  };
  async function call(
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<Reply> {
    const response = await fetch(path.startsWith('/') ? `${fake.url}${path}` : path, {
      method,
      headers: { ...usual, ...headers },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    return {
      status: response.status,
      headers: response.headers,
      body: (text.startsWith('{') || text.startsWith('[') ? JSON.parse(text) : { text }) as Record<
        string,
        unknown
      >,
    };
  }
  const admin = (method: string, path: string, body?: unknown) =>
    call(method, `${fake.adminUrl}${path}`, body, { 'x-fake-admin': fake.tokens.admin });
  const backend = { name: 'http.api.eu', mode: 'tcp', load_balancer: lb };
  const make = async (kind: string, body: object) =>
    String((await call('POST', `${LBAAS}/${kind}.json`, body)).body['identifier']);
  const rows = async (path: string) =>
    (await call('GET', path)).body['data'] as { identifier: string }[];
  return { fake, lb, other, call, admin, backend, make, rows };
}

describe('access', () => {
  test.each([
    [{ authorization: '' }, 401],
    [{ authorization: 'Bearer x' }, 401],
    [{ authorization: 'Token wrong' }, 403],
    [{ accept: 'text/html' }, 406],
  ])('with %j a look is answered with %i', async (headers, status) => {
    const { call } = await start();
    expect((await call('GET', `${LBAAS}/backend.json`, undefined, headers)).status).toBe(status);
  });

  test.each([
    ['POST', `${LBAAS}/backend.json`, 415, { 'content-type': 'text/plain' }, '{}'],
    ['POST', `${LBAAS}/backend.json`, 400, {}, '{'],
    ['POST', `${LBAAS}/backend.json`, 400, {}, undefined],
    ['POST', `${LBAAS}/backend.json`, 400, {}, '[]'],
    ['PATCH', `${LBAAS}/backend.json`, 405, {}, '{}'],
    ['GET', `${LBAAS}/rule.json`, 404, {}, undefined],
  ])('%s %s is refused with %i', async (method, path, status, headers, body) => {
    const { call } = await start();
    const reply = await call(method, path, body, headers);
    expect(reply.status).toBe(status);
    expect(reply.body).toMatchObject({ error: { code: status }, debug: { source: 'fakengine' } });
  });
});

describe('objects', () => {
  test('links are ids in what is sent, and objects in what is shown', async () => {
    const { call, backend, make, lb } = await start();
    const id = await make('backend', backend);
    expect((await call('GET', `${LBAAS}/backend.json/${id}`)).body).toMatchObject({
      identifier: id,
      load_balancer: { identifier: lb, name: 'lb-1' },
      state: { id: '3', title: 'Deployed', type: 1 },
    });
  });

  test.each([
    [{ state: '0' }, 'body'],
    [{ weight: 1 }, 'body'],
    [{ mode: 'udp' }, 'mode'],
    [{ load_balancer: { identifier: 'x' } }, 'load_balancer'],
    [{ load_balancer: 'nowhere' }, 'load_balancer'],
    [{ name: undefined }, 'name'],
  ])('a creation with %j is refused, naming %s', async (changes, field) => {
    const { call, backend, fake } = await start();
    const reply = await call('POST', `${LBAAS}/backend.json`, { ...backend, ...changes });
    expect(reply.status).toBe(422);
    const { validation } = reply.body['error'] as { validation: object };
    expect(Object.keys(validation)).toEqual([field]);
    expect(fake.objects()).toEqual([]);
  });

  test('a change needs its identifier and state 0, and is deployed after a while', async () => {
    const clock = createManualClock(0);
    const { call, backend, make } = await start({ clock, stateDelayMs: 100 });
    const id = await make('backend', backend);
    const path = `${LBAAS}/backend.json/${id}`;
    const state = async () => (await call('GET', path)).body['state'];
    expect(await state()).toEqual({ id: '4', title: 'NewlyCreated', type: 2 });
    clock.stepTowards(100);
    expect(await state()).toEqual({ id: '3', title: 'Deployed', type: 1 });
    expect((await call('PUT', path, { ...backend, identifier: id })).status).toBe(422);
    expect((await call('PUT', path, { ...backend, identifier: 'x', state: '0' })).status).toBe(422);
    expect((await call('PUT', path, { ...backend, identifier: id, state: '0' })).status).toBe(200);
    expect(await state()).toEqual({ id: '0', title: 'Updating', type: 1 });
    clock.stepTowards(200);
    expect(await state()).toEqual({ id: '1', title: 'Updated', type: 1 });
  });

  test('what others refer to is not destroyed, unless the knob lets it happen', async () => {
    const { call, backend, make, fake, lb } = await start();
    const id = await make('backend', backend);
    await make('frontend', { name: 'f', mode: 'tcp', load_balancer: lb, default_backend: id });
    const destroy = async () => (await call('DELETE', `${LBAAS}/backend.json/${id}`)).status;
    expect(await destroy()).toBe(422);
    fake.setKnobs({ blockedStatus: 409 });
    expect(await destroy()).toBe(409);
    fake.setKnobs({ blockedStatus: 0 });
    expect(await destroy()).toBe(200);
    expect(await destroy()).toBe(404);
  });
});

describe('lists', () => {
  test('are filtered by an inner query that is escaped once more', async () => {
    const { rows, backend, make, lb, other, fake } = await start();
    const ours = await make('backend', backend);
    await make('backend', { ...backend, load_balancer: other });
    const path = `${LBAAS}/backend.json?filters=`;
    const found = await rows(`${path}load_balancer%3D${lb}%26mode%3Dtcp`);
    expect(found).toEqual([{ identifier: ours, name: 'http.api.eu' }]);
    expect(fake.complaints()).toEqual([]);
    for (const wrong of [`load_balancer=${lb}&mode=tcp`, `load_balancer=${lb}`, 'owner%3Dx']) {
      expect(await rows(path + wrong)).toEqual([]);
    }
    expect(new Set(fake.complaints().map(({ text }) => text))).toEqual(
      new Set([
        'filters is not escaped as a whole',
        'parameter mode is no part of the query: is filters escaped?',
        'there is no filter owner',
      ]),
    );
  });

  test('come in pages, and in three forms', async () => {
    const { call, backend, make, fake } = await start();
    for (const name of ['a', 'b', 'c']) await make('backend', { ...backend, name });
    const list = async (query: string) =>
      (await call('GET', `${LBAAS}/backend.json?${query}`)).body;
    const second = { page: 2, total_pages: 2, total_items: 3, limit: 2, data: [{ name: 'c' }] };
    expect(await list('page=2&limit=2')).toMatchObject(second);
    expect(await list('page=3&limit=2')).toMatchObject({ data: [] });
    fake.setKnobs({ listForm: 'wrapped' });
    expect(await list('page=2&limit=2')).toMatchObject({
      state: 'success',
      messages: [],
      data: second,
    });
    fake.setKnobs({ listForm: 'array' });
    expect(await list('page=2&limit=2')).toMatchObject(second.data);
    expect((await call('GET', `${LBAAS}/backend.json?page=0`)).status).toBe(400);
  });
});

describe('tags', () => {
  test('are texts in the list of resources, and objects in one of them', async () => {
    const { call, backend, make, rows } = await start();
    const id = await make('backend', backend);
    const search = `${RESOURCES}?tag_name=a%3D1`;
    expect((await call('GET', search)).status).toBe(422);
    const path = `${RESOURCES}/${id}/tags/a%3D1`;
    expect((await call('POST', path, 'null')).status).toBe(400);
    expect((await call('POST', path, '""')).status).toBe(200);
    expect((await call('POST', path, '""')).status).toBe(422);
    expect(await rows(search)).toMatchObject([
      {
        identifier: id,
        tags: ['a=1'],
        resource_type: { identifier: '33164a3066a04a52be43c607f0c5dd8c' },
      },
    ]);
    expect((await call('GET', `${RESOURCES}/${id}`)).body).toMatchObject({
      tags: [{ name: 'a=1' }],
    });
    expect((await call('DELETE', path)).status).toBe(204);
    expect((await call('DELETE', path)).status).toBe(404);
  });

  test('are not written two at a time', async () => {
    const { call, backend, make, fake } = await start({ knobs: { taggingMs: 50 } });
    const ids = [await make('backend', backend), await make('backend', backend)];
    const replies = await Promise.all(
      ids.map((id) => call('POST', `${RESOURCES}/${id}/tags/x`, '""')),
    );
    expect(replies.map(({ status }) => status).toSorted()).toEqual([200, 409]);
    expect(fake.complaints()).toMatchObject([
      { text: 'a resource was tagged while another one was' },
    ]);
  });
});

describe('faults', () => {
  test('a twin: one creation makes two', async () => {
    const { make, backend, fake } = await start();
    fake.addFault({ match: { kind: 'backend' }, effect: { type: 'twin' } });
    await make('backend', backend);
    await make('backend', { ...backend, name: 'other' });
    expect(fake.objects().map(({ name }) => name)).toEqual(['http.api.eu', 'http.api.eu', 'other']);
  });

  test('a deployment that fails twice is well after the second change', async () => {
    const { call, make, backend, fake } = await start();
    fake.addFault({ effect: { type: 'deploymentError', deployments: 2 } });
    const id = await make('backend', backend);
    const put = () =>
      call('PUT', `${LBAAS}/backend.json/${id}`, { ...backend, identifier: id, state: '0' });
    expect(fake.objects()[0]!.state).toBe('2');
    expect((await put()).body['state']).toMatchObject({ id: '2' });
    expect((await put()).body['state']).toMatchObject({ id: '1' });
  });

  test('one that never deploys, and lists of some time ago', async () => {
    const clock = createManualClock(0);
    const { make, backend, rows, fake } = await start({ clock });
    fake.addFault({ effect: { type: 'neverDeploys' } });
    fake.addFault({ effect: { type: 'lag', lagMs: 1_000 } });
    await make('backend', backend);
    expect(await rows(`${LBAAS}/backend.json`)).toEqual([]);
    clock.stepTowards(1_000);
    expect(await rows(`${LBAAS}/backend.json`)).toHaveLength(1);
    clock.stepTowards(3_600_000);
    expect(fake.objects()[0]!.state).toBe('4');
  });

  test.each([
    ['seconds', /^60$/],
    ['date', /GMT$/],
    ['none', null],
  ] as const)('a limit whose time is in %s', async (retryAfter, form) => {
    const { call, fake } = await start({ clock: createManualClock(0) });
    fake.addFault({ effect: { type: 'rateLimit', limit: 1, windowMs: 60_000, retryAfter } });
    expect((await call('GET', `${LBAAS}/backend.json`)).status).toBe(200);
    const { status, headers } = await call('GET', `${LBAAS}/backend.json`);
    expect(status).toBe(429);
    if (form === null) expect(headers.get('retry-after')).toBeNull();
    else expect(headers.get('retry-after')).toMatch(form);
  });

  test('a limit is over when it refused so many requests, whatever it let pass', async () => {
    const { call, fake } = await start({ clock: createManualClock(0) });
    const effect = { type: 'rateLimit', limit: 2, windowMs: 60_000 } as const;
    fake.addFault({ times: 2, effect });
    const statuses: number[] = [];
    for (let at = 0; at < 6; at += 1) {
      statuses.push((await call('GET', `${LBAAS}/backend.json`)).status);
    }
    expect(statuses).toEqual([200, 200, 429, 429, 200, 200]);
    expect(fake.faults()).toMatchObject([{ seen: 6, applied: 2 }]);
  });

  test('strike by page, by name and by object, and are told in the journal', async () => {
    const { call, make, backend, fake } = await start();
    const id = await make('backend', backend);
    fake.addFault({ id: 'page', match: { page: 2 }, effect: { type: 'status', code: 500 } });
    fake.addFault({
      id: 'name',
      match: { name: 'bad' },
      effect: { type: 'status', code: 503, executed: true },
    });
    fake.addFault({ id: 'object', match: { id }, effect: { type: 'garbage', kind: 'html' } });
    const statuses = [
      await call('GET', `${LBAAS}/backend.json?page=1`),
      await call('GET', `${LBAAS}/backend.json?page=2`),
      await call('POST', `${LBAAS}/backend.json`, { ...backend, name: 'bad' }),
      await call('GET', `${LBAAS}/backend.json/${id}`),
    ].map(({ status }) => status);
    expect(statuses).toEqual([200, 500, 503, 200]);
    expect(fake.requests(1).map(({ faults, executed }) => [faults.join(), executed])).toEqual([
      ['', true],
      ['page', false],
      ['name', true],
      ['object', true],
    ]);
    expect(fake.objects()).toHaveLength(2);
  });

  test('a rule for no route, or of no known effect, is refused', async () => {
    const { fake, admin } = await start();
    const nowhere = {
      match: { route: '/nowhere' },
      effect: { type: 'status', code: 500 },
    } as const;
    expect(() => fake.addFault(nowhere)).toThrow('no route /nowhere; there are /api/LBaaS/v1/');
    expect((await admin('POST', '/faults', nowhere)).status).toBe(422);
    expect((await admin('POST', '/faults', { effect: { type: 'magic' } })).status).toBe(422);
    expect(fake.faults()).toEqual([]);
  });
});

test('the admin routes are for whoever has the token, and do what the methods do', async () => {
  const { fake, call, admin, make, backend } = await start();
  const id = await make('backend', backend);
  expect((await call('GET', `${fake.adminUrl}/objects`)).status).toBe(401);
  expect((await call('GET', `${fake.adminUrl}/healthz`)).body).toEqual({ status: 'ok' });
  expect((await admin('GET', '/objects')).body).toEqual({ objects: fake.objects() });
  await admin('POST', `/objects/${id}/state`, { state: '2' });
  await admin('PATCH', `/objects/${id}`, { fields: { mode: 'http' } });
  expect(fake.objects()).toMatchObject([{ state: '2', fields: { mode: 'http' } }]);
  expect((await admin('POST', '/objects/x/state', { state: '2' })).status).toBe(404);
  const resource = await admin('POST', '/resources', { name: 'x', typeId: 'f', tags: ['a'] });
  expect(fake.objects()[1]).toMatchObject({
    id: resource.body['identifier'],
    kind: null,
    tags: ['a'],
  });
  expect((await admin('PATCH', '/knobs', { limitMax: 3 })).body).toMatchObject({
    limitMax: 3,
    rows: 'short',
  });
  expect((await admin('PATCH', '/knobs', { colour: 'red' })).status).toBe(422);
  const fault = await admin('POST', '/faults', { effect: { type: 'latency', ms: 1 } });
  expect(fault).toMatchObject({ status: 201, body: { id: 'fault-1', seen: 0 } });
  expect((await admin('GET', '/faults')).body).toMatchObject({ faults: [{ id: 'fault-1' }] });
  expect((await admin('DELETE', '/faults/fault-1')).status).toBe(204);
  expect((await admin('DELETE', '/faults/fault-1')).status).toBe(404);
  expect((await admin('DELETE', '/faults')).status).toBe(204);
  expect((await admin('GET', '/complaints')).body).toEqual({ complaints: [] });
  const { requests } = (await admin('GET', '/requests?since=0')).body as { requests: unknown[] };
  expect(requests).toMatchObject([
    {
      method: 'POST',
      route: `${LBAAS}/backend.json`,
      status: 200,
      executed: true,
      fate: 'replied',
    },
  ]);
});

test('the same seed gives the same ids, and never the same tokens', async () => {
  const [one, again, other] = [
    await start({ seed: 7 }),
    await start({ seed: 7 }),
    await start({ seed: 8 }),
  ];
  expect(again.lb).toBe(one.lb);
  expect(other.lb).not.toBe(one.lb);
  expect(again.fake.tokens.api).not.toBe(one.fake.tokens.api);
});

test('it ends at once, whoever hangs, and twice is as good as once', async () => {
  const { fake, call } = await start();
  fake.addFault({ effect: { type: 'hang', phase: 'before' } });
  fake.addFault({ match: { method: 'POST' }, effect: { type: 'latency', ms: 3_600_000 } });
  const hung = [call('GET', `${LBAAS}/backend.json`), call('POST', `${LBAAS}/backend.json`, {})];
  const ends = Promise.allSettled(hung);
  await expect.poll(() => fake.requests().length).toBe(2);
  await fake.close();
  await fake.close();
  expect((await ends).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
});
