import { expect, onTestFinished, test } from 'vitest';
import { startAnexiaEmulator } from '../../../emulators/anexia/emulator.ts';
import type { AnexiaEmulatorOptions } from '../../../emulators/anexia/emulator.ts';

import { testRows } from '../../support/rows.ts';

const LBAAS = '/api/LBaaS/v1';
const RESOURCES = '/api/core/v1/resource.json';

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
  ) {
    const response = await fetch(path.startsWith('/') ? `${fake.url}${path}` : path, {
      method,
      headers: { ...usual, ...headers },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    const told = (text === '' ? {} : JSON.parse(text)) as Record<string, unknown>;
    return { status: response.status, body: told };
  }
  const admin = (method: string, path: string, body?: unknown) =>
    call(method, `${fake.adminUrl}${path}`, body, { 'x-fake-admin': fake.adminToken });
  const backend = { name: 'http.api.eu', mode: 'tcp', load_balancer: lb };
  const make = async (kind: string, body: object) =>
    String((await call('POST', `${LBAAS}/${kind}.json`, body)).body['identifier']);
  return { fake, lb, other, call, admin, backend, make };
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
  const { call, backend, make, lb, other, fake } = await start();
  const ours = await make('backend', backend);
  await make('backend', { ...backend, load_balancer: other });
  const found = async (filters: string) =>
    (await call('GET', `${BACKENDS}?filters=${filters}`)).body['data'];
  expect(await found(`load_balancer%3D${lb}%26mode%3Dtcp`)).toEqual([
    { identifier: ours, name: 'http.api.eu' },
  ]);
  expect(fake.complaints()).toEqual([]);
  for (const wrong of [`load_balancer=${lb}&mode=tcp`, 'owner%3Dx']) {
    expect(await found(wrong)).toEqual([]);
  }
  expect(fake.complaints()).toHaveLength(3);
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

test('its own controls do what the methods do', async () => {
  const { fake, admin, make, backend } = await start();
  const id = await make('backend', backend);
  await admin('POST', `/objects/${id}/state`, { state: '2' });
  await admin('PATCH', `/objects/${id}`, { fields: { mode: 'http' } });
  const resource = await admin('POST', '/resources', { name: 'x', typeId: 'f', tags: ['a'] });
  expect(fake.objects()).toMatchObject([
    { state: '2', fields: { mode: 'http' } },
    { id: resource.body['identifier'], kind: null, tags: ['a'] },
  ]);
  expect((await admin('GET', '/state')).body).toMatchObject({ objects: fake.objects() });
  const knobs = await admin('PATCH', '/knobs', { limitMax: 3 });
  expect(knobs.body).toMatchObject({ limitMax: 3, rows: 'short' });
  expect((await admin('PATCH', '/knobs', { colour: 'red' })).status).toBe(422);
});
