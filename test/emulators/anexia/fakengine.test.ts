import { expect, onTestFinished, test } from 'vitest';
import { createManualClock } from '../../../emulators/kit/clock.ts';
import { startAnexiaEmulator } from '../../../emulators/anexia/emulator.ts';
import type { AnexiaEmulatorOptions } from '../../../emulators/anexia/emulator.ts';

import { testRows } from '../../support/rows.ts';

const LBAAS = '/api/LBaaS/v1';
const RESOURCES = '/api/core/v1/resource.json';

interface Reply {
  readonly status: number;
  readonly body: Record<string, unknown>;
  readonly headers: Headers;
}

async function start(options: Partial<AnexiaEmulatorOptions> = {}) {
  const fake = await startAnexiaEmulator({ listen: { host: '127.0.0.1', port: 0 }, ...options });
  onTestFinished(() => fake.close());
  const [lb = '', other = ''] = fake.loadBalancers;
  const usual = {
    authorization: `Token ${fake.token}`,
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
    call(method, `${fake.adminUrl}${path}`, body, { 'x-fake-admin': fake.adminToken });
  const backend = { name: 'http.api.eu', mode: 'tcp', load_balancer: lb };
  const make = async (kind: string, body: object) =>
    String((await call('POST', `${LBAAS}/${kind}.json`, body)).body['identifier']);
  const rows = async (path: string) =>
    (await call('GET', path)).body['data'] as { identifier: string }[];
  return { fake, lb, other, call, admin, backend, make, rows };
}

/** A request, its answer, the body that is sent, and headers in place of the usual ones. */
type Row = [ask: string, status: number, shown?: object | null, body?: unknown, headers?: object];
const BACKENDS = `${LBAAS}/backend.json`;
const MADE = { name: 'x', mode: 'tcp', load_balancer: '{lb}' };
const SAME = { ...MADE, name: 'http.api.eu' };
const complaint = (field: string) => ({ error: { validation: { [field]: expect.anything() } } });
const ANSWERS: readonly Row[] = [
  [`GET ${BACKENDS}`, 401, null, undefined, { authorization: '' }],
  [`GET ${BACKENDS}`, 401, null, undefined, { authorization: 'Bearer x' }],
  [`GET ${BACKENDS}`, 403, null, undefined, { authorization: 'Token wrong' }],
  [`GET ${BACKENDS}`, 406, null, undefined, { accept: 'text/html' }],
  [`POST ${BACKENDS}`, 415, null, '{}', { 'content-type': 'text/plain' }],
  [`POST ${BACKENDS}`, 400, null, '{'],
  [`POST ${BACKENDS}`, 400],
  [`POST ${BACKENDS}`, 400, null, '[]'],
  [`PATCH ${BACKENDS}`, 405, null, '{}'],
  [`GET ${LBAAS}/rule.json`, 404],
  [`GET ${BACKENDS}?page=0`, 400],
  [`POST ${BACKENDS}`, 422, complaint('body'), { ...MADE, state: '0' }],
  [`POST ${BACKENDS}`, 422, complaint('body'), { ...MADE, weight: 1 }],
  [`POST ${BACKENDS}`, 422, complaint('mode'), { ...MADE, mode: 'udp' }],
  [`POST ${BACKENDS}`, 422, complaint('load_balancer'), { ...MADE, load_balancer: {} }],
  [`POST ${BACKENDS}`, 422, complaint('load_balancer'), { ...MADE, load_balancer: 'nowhere' }],
  [`POST ${BACKENDS}`, 422, complaint('name'), { ...MADE, name: undefined }],
  [
    `GET ${BACKENDS}/{id}`,
    200,
    {
      ...{ identifier: '{id}', load_balancer: { identifier: '{lb}', name: 'lb-1' } },
      state: { id: '3', title: 'Deployed', type: 1 },
    },
  ],
  [`PUT ${BACKENDS}/{id}`, 422, complaint('state'), { ...SAME, identifier: '{id}' }],
  [`PUT ${BACKENDS}/{id}`, 422, complaint('identifier'), { ...SAME, identifier: 'x', state: '0' }],
  [`PUT ${BACKENDS}/{id}`, 422, complaint('name'), { ...MADE, identifier: '{id}', state: '0' }],
  [`DELETE ${BACKENDS}/{id}`, 422],
  [`DELETE ${BACKENDS}/x`, 404],
  [`GET ${RESOURCES}?tag_name=a%3D1`, 422],
  [`POST ${RESOURCES}/{id}/tags/a%3D1`, 400, null, 'null'],
  [`DELETE ${RESOURCES}/{id}/tags/a%3D1`, 404],
];

/** No row changes anything: the emulator of the table is made once, with a frontend on its backend. */
let shared: Promise<Awaited<ReturnType<typeof start>> & { id: string }> | undefined;
async function furnished() {
  const engine = await start();
  const { make, backend, lb } = engine;
  const id = await make('backend', backend);
  await make('frontend', { name: 'f', mode: 'tcp', load_balancer: lb, default_backend: id });
  return { ...engine, id };
}

testRows(ANSWERS)('answers %s with %i', async (ask, status, shown, body, headers) => {
  const { call, fake, id, lb } = await (shared ??= furnished());
  const fill = (text: string) => text.replaceAll('{id}', id).replaceAll('{lb}', lb);
  const before = fake.objects();
  const [method, path] = fill(ask).split(' ') as [string, string];
  const sent = body === undefined || typeof body === 'string' ? body : fill(JSON.stringify(body));
  const reply = await call(method, path, sent, headers as Record<string, string>);
  expect(reply.status).toBe(status);
  const { error } = reply.body as { error?: { validation?: object } };
  if (status >= 400) {
    expect(reply.body).toMatchObject({ error: { code: status }, debug: { source: 'emulator' } });
    expect(reply.body).toMatchObject(shown ?? {});
    expect(Object.keys(error?.validation ?? {}).length).toBeLessThan(2);
  } else if (shown)
    expect(reply.body).toMatchObject(JSON.parse(fill(JSON.stringify(shown))) as object);
  expect(fake.objects()).toEqual(before);
});

test('deploys what is made and changed after a while', async () => {
  const clock = createManualClock(0);
  const { call, backend, make } = await start({ clock, stateDelayMs: 100 });
  const id = await make('backend', backend);
  const path = `${BACKENDS}/${id}`;
  const state = async () => (await call('GET', path)).body['state'];
  expect(await state()).toEqual({ id: '4', title: 'NewlyCreated', type: 2 });
  clock.stepTowards(100);
  expect(await state()).toEqual({ id: '3', title: 'Deployed', type: 1 });
  expect((await call('PUT', path, { ...backend, identifier: id, state: '0' })).status).toBe(200);
  expect(await state()).toEqual({ id: '0', title: 'Updating', type: 1 });
  clock.stepTowards(200);
  expect(await state()).toEqual({ id: '1', title: 'Updated', type: 1 });
});

testRows([
  [422, undefined],
  [409, 409],
  [200, 0],
])('answers %i to the end of what others refer to when the knob says %j', async (status, knob) => {
  const { call, fake, id } = await furnished();
  if (knob !== undefined) fake.setKnobs({ blockedStatus: knob });
  expect((await call('DELETE', `${BACKENDS}/${id}`)).status).toBe(status);
  expect((await call('DELETE', `${BACKENDS}/${id}`)).status).toBe(status === 200 ? 404 : status);
});

test('filters lists by an inner query that is escaped once more', async () => {
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

test('lists pages in three forms', async () => {
  const { call, backend, make, fake } = await start();
  for (const name of ['a', 'b', 'c']) await make('backend', { ...backend, name });
  const list = async (query: string) => (await call('GET', `${LBAAS}/backend.json?${query}`)).body;
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
});

test('shows tags as texts in the list of resources, and as objects in one of them', async () => {
  const { call, rows, id, fake } = await furnished();
  const search = `${RESOURCES}?tag_name=a%3D1`;
  const path = `${RESOURCES}/${id}/tags/a%3D1`;
  const tag = async (method: string) => (await call(method, path, '""')).status;
  expect([await tag('POST'), await tag('POST')]).toEqual([200, 422]);
  const type = '33164a3066a04a52be43c607f0c5dd8c';
  expect(await rows(search)).toMatchObject([
    { identifier: id, tags: ['a=1'], resource_type: { identifier: type } },
  ]);
  const shown = (await call('GET', `${RESOURCES}/${id}`)).body;
  expect(shown).toMatchObject({ tags: [{ name: 'a=1' }] });
  expect([await tag('DELETE'), await tag('DELETE')]).toEqual([204, 404]);
  expect(fake.objects()[0]!.tags).toEqual([]);
});

test('refuses to write two tags at a time', async () => {
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

testRows([
  ['seconds', '60'],
  ['date', 'Thu, 01 Jan 1970 00:01:00 GMT'],
  ['none', null],
] as const)(
  'refuses above a limit, with the time in %s, so many times',
  async (retryAfter, told) => {
    const { call, fake } = await start({ clock: createManualClock(0) });
    const effect = { type: 'rateLimit', limit: 2, windowMs: 60_000, retryAfter } as const;
    fake.addFault({ times: 2, effect });
    const seen: unknown[] = [];
    for (let at = 0; at < 6; at += 1) {
      const { status, headers } = await call('GET', BACKENDS);
      seen.push(status === 429 ? headers.get('retry-after') : status);
    }
    expect(seen).toEqual([200, 200, told, told, 200, 200]);
    expect(fake.faults()).toMatchObject([{ seen: 6, applied: 2 }]);
  },
);

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

test('the admin routes are for whoever has the token, and do what the methods do', async () => {
  const { fake, call, admin, make, backend } = await start();
  const id = await make('backend', backend);
  expect((await call('GET', `${fake.adminUrl}/state`)).status).toBe(401);
  expect((await call('GET', `${fake.adminUrl}/healthz`)).body).toEqual({ status: 'ok' });
  expect((await admin('GET', '/state')).body).toMatchObject({ objects: fake.objects() });
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
  expect((await admin('GET', '/state')).body).toMatchObject({ complaints: [] });
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
