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

/** A request, its body, and headers that replace the usual ones. */
type EngineRow = readonly [ask: string, body?: unknown, headers?: Record<string, string>];
const BACKENDS = `${LBAAS}/backend.json`;
const MADE = { name: 'x', mode: 'tcp', load_balancer: '{lb}' };
const SAME = { ...MADE, name: 'http.api.eu' };
const ASKED: readonly EngineRow[] = [
  [`GET ${BACKENDS}`, undefined, { authorization: '' }],
  [`GET ${BACKENDS}`, undefined, { authorization: 'Bearer x' }],
  [`GET ${BACKENDS}`, undefined, { authorization: 'Token wrong' }],
  [`GET ${BACKENDS}`, undefined, { accept: 'text/html' }],
  [`POST ${BACKENDS}`, '{}', { 'content-type': 'text/plain' }],
  [`POST ${BACKENDS}`, '{'],
  [`POST ${BACKENDS}`],
  [`POST ${BACKENDS}`, '[]'],
  [`PATCH ${BACKENDS}`, '{}'],
  [`GET ${LBAAS}/rule.json`],
  [`GET ${BACKENDS}?page=0`],
  [`POST ${BACKENDS}`, { ...MADE, state: '0' }],
  [`POST ${BACKENDS}`, { ...MADE, weight: 1 }],
  [`POST ${BACKENDS}`, { ...MADE, mode: 'udp' }],
  [`POST ${BACKENDS}`, { ...MADE, load_balancer: {} }],
  [`POST ${BACKENDS}`, { ...MADE, load_balancer: 'nowhere' }],
  [`POST ${BACKENDS}`, { ...MADE, name: undefined }],
  [`GET ${BACKENDS}/{id}`],
  [`PUT ${BACKENDS}/{id}`, { ...SAME, identifier: '{id}' }],
  [`PUT ${BACKENDS}/{id}`, { ...SAME, identifier: 'x', state: '0' }],
  [`PUT ${BACKENDS}/{id}`, { ...MADE, identifier: '{id}', state: '0' }],
  [`DELETE ${BACKENDS}/{id}`],
  [`DELETE ${BACKENDS}/x`],
  [`GET ${RESOURCES}?tag_name=a%3D1`],
  [`POST ${RESOURCES}/{id}/tags/a%3D1`, 'null'],
  [`DELETE ${RESOURCES}/{id}/tags/a%3D1`],
];

/** The backend has a frontend. */
async function furnished() {
  const engine = await start();
  const { make, backend, lb } = engine;
  const id = await make('backend', backend);
  await make('frontend', { name: 'f', mode: 'tcp', load_balancer: lb, default_backend: id });
  return { ...engine, id };
}

test('answers as described, field by field', async () => {
  const { call, fake, id, lb } = await furnished();
  const fill = (text: string) => text.replaceAll('{id}', id).replaceAll('{lb}', lb);
  const before = fake.objects();
  const told: string[] = [];
  for (const [ask, body, headers] of ASKED) {
    const [method, path] = fill(ask).split(' ') as [string, string];
    const sent = body === undefined || typeof body === 'string' ? body : fill(JSON.stringify(body));
    const { status, body: answer } = await call(method, path, sent, headers);
    const line = [ask, JSON.stringify(body), JSON.stringify(headers)].join(' ').trimEnd();
    told.push(`${line}\n${status} ${JSON.stringify(answer, null, 1)}\n`);
  }
  expect(fake.objects()).toEqual(before);
  const shown = told.join('\n').replaceAll(id, '{id}').replaceAll(lb, '{lb}');
  await expect(shown).toMatchFileSnapshot('golden/answers.txt');
});

testRows([
  [422, undefined],
  [409, 409],
  [200, 0],
])(
  'answers %i to the deletion of a referenced object when the knob says %j',
  async (status, knob) => {
    const { call, fake, id } = await furnished();
    if (knob !== undefined) fake.setKnobs({ blockedStatus: knob });
    expect((await call('DELETE', `${BACKENDS}/${id}`)).status).toBe(status);
    expect((await call('DELETE', `${BACKENDS}/${id}`)).status).toBe(status === 200 ? 404 : status);
  },
);

test('filters lists by an inner query with double escaping', async () => {
  const { call, backend, make, lb, other, fake } = await start();
  const ours = await make('backend', backend);
  await make('backend', { ...backend, load_balancer: other });
  const found = async (filters: string) =>
    (await call('GET', `${BACKENDS}?filters=${filters}`)).body['data'];
  expect(await found(`load_balancer%3D${lb}%26mode%3Dtcp`)).toEqual([
    { identifier: ours, name: 'http.api.eu' },
  ]);
  expect(fake.complaints()).toEqual([]);
  for (const wrong of ['mode=tcp', `load_balancer=${lb}&mode=tcp`, 'owner%3Dx']) {
    expect(await found(wrong)).toEqual([]);
  }
  expect(fake.complaints()).toHaveLength(4);
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

test('offers the methods’ effects through its own controls', async () => {
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
