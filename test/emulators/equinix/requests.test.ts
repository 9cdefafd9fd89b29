import { expect, test } from 'vitest';
import { parseWorld } from '../../../emulators/equinix/world.ts';
import { testRows } from '../../support/rows.ts';
import {
  ACTIVE_MS,
  adminOf,
  clientOf,
  createDevice,
  createOn,
  hooksOf,
  type ServerJson,
  KEY,
  OTHER_KEY,
  start,
} from './harness.ts';

const NONE = '00000000-0000-4000-8000-000000000000';
/** A new name for each device. */
const PASSWORD = /("root_password":")[0-9a-f]+/g;
const UUID = /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;
const world = parseWorld({
  projects: [{ name: 'a' }, { name: 'b' }],
  reservations: [
    { count: 3 },
    { provisionable: false },
    { spare: true },
    { needOfService: true },
    { project: 'b' },
  ],
  keys: [{ label: 'fleet', key: KEY }],
});

/** The world with an active device on its first reservation and a locked one on its second. */
async function furnished() {
  const fake = await start({ world });
  const device = await createDevice(fake, 0, { tags: ['even', 'x'] });
  const locked = await createDevice(fake, 1, { locked: true });
  await fake.advance(ACTIVE_MS);
  const [key] = (await clientOf(fake)('GET', '/ssh-keys')).body['ssh_keys']!;
  const reservations = fake.reservations();
  const names: Record<string, string> = {
    ...Object.fromEntries(reservations.map(({ id }, index) => [`r${index}`, id])),
    ...{ a: fake.projectId, b: reservations[6]!.projectId },
    ...{ organization: fake.organizationId, device, locked, key: String(key!['id']) },
  };
  const fill = (words: string) => words.replaceAll(/\{(\w+)\}/g, (all, name) => names[name] ?? all);
  const shown = Object.entries(names).map(([name, id]) => [id, name]);
  const known = new Map(shown as [string, string][]);
  const unfill = (text: string) =>
    text.replaceAll(UUID, (id) => (known.has(id) ? `{${known.get(id)}}` : id));
  return { fake, fill, unfill };
}

const devices = 'POST /projects/{a}/devices';
const onDemand = { hardware_reservation_id: '', metro: 'fr' };

/** A request, its body, and its owner. */
type RequestRow = readonly [ask: string, body?: unknown, token?: 'none' | 'nobody' | 'project'];
const ASKED: readonly RequestRow[] = [
  ['GET /projects', undefined, 'none'],
  ['GET /projects', undefined, 'nobody'],
  ['GET /projects'],
  ['GET /projects/', undefined, 'project'],
  ['GET /hardware-reservations/{r6}', undefined, 'project'],
  ['GET /projects/{b}/devices', undefined, 'project'],
  ['GET /ssh-keys/{key}', undefined, 'project'],
  ['POST /ssh-keys', { label: 'x', key: KEY }, 'project'],
  ['GET /organizations/{organization}/hardware-reservations?per_page=1', undefined, 'project'],
  ['GET /organizations/{organization}/hardware-reservations?per_page=1'],
  [`GET /organizations/${NONE}/hardware-reservations`],
  ['GET /nowhere'],
  ['DELETE /projects'],
  [`GET /devices/${NONE}`],
  [devices, '{"hostname":'],
  [devices, '[]'],

  // Orders: their visible fields, and refusals.
  [devices, {}],
  [devices, { customdata: '{"hi":1}', tags: null }],
  [devices, { customdata: '', userdata: 'x' }],
  [devices, { ...onDemand, plan: 'c3.small.x86' }],
  [`${devices}?include=facility`, { ...onDemand, metro: 'am' }],
  [devices, { ...onDemand, metro: undefined, facility: ['am6', 'fr2'] }],
  [devices, { plan: 'x9.huge' }],
  [devices, { plan: undefined }],
  [devices, { plan: 'c3.small.x86' }],
  [devices, { operating_system: 'minix_1' }],
  [devices, { hostname: 'under_score' }],
  ...[NONE, '{r6}', '{r0}', '{r3}', '{r4}', '{r5}'].map((hardware_reservation_id): RequestRow => [
    devices,
    { hardware_reservation_id },
  ]),
  [devices, { hardware_reservation_id: '' }],
  [devices, { metro: 'xx' }],
  [devices, { metro: 'am' }],
  [devices, { facility: 'nowhere' }],
  [devices, { ...onDemand, facility: 'am6' }],
  [devices, { project_ssh_keys: [NONE] }],
  [devices, { customdata: 'hello' }],
  [devices, { customdata: '[1]' }],
  [devices, { billing_cycle: 'now and then' }],

  ['PUT /devices/{device}', { hostname: 'deleted-x' }],
  ['PATCH /devices/{device}', { locked: true }],
  ['PUT /devices/{device}', { hostname: 'a b' }],
  ['PUT /devices/{device}', { locked: 'yes', tags: [1] }],
  ['PUT /devices/{device}?description=query&userdata=in+the+query', { description: 'body' }],
  ['DELETE /devices/{locked}'],
  ['DELETE /devices/{device}'],
  ['POST /devices/{device}/actions?type=power_off'],
  ['POST /devices/{device}/actions', { type: 'dance' }],
  ['POST /devices/{device}/actions', { type: 'reinstall', operating_system: 'minix_1' }],
  ['POST /devices/{locked}/actions', { type: 'reinstall' }],
  ['POST /devices/{locked}/actions', { type: 'reboot' }],

  ['POST /hardware-reservations/{r2}/move', { project_id: NONE }],
  ['POST /hardware-reservations/{r2}/move', { project_id: '{b}' }, 'project'],
  ['POST /hardware-reservations/{r2}/move', {}],
  ['POST /hardware-reservations/{r0}/move', { project_id: '{b}' }],
  ['POST /hardware-reservations/{r2}/move', { project_id: '{b}' }],
  ['DELETE /projects/{b}'],

  ...['', 'ssh-ed25519', 'ssh-ed25519 AAAA', `ssh-rsa ${KEY.split(' ')[1]}`, `${KEY}\n${KEY}`].map(
    (key): RequestRow => ['POST /ssh-keys', { label: 'x', key }],
  ),
  ['PUT /ssh-keys/{key}', { key: 'nonsense' }],
  ['PATCH /ssh-keys/{key}', { key: OTHER_KEY }],
  ['POST /projects/{a}/ssh-keys', { label: 'x', key: `  ${OTHER_KEY}  \n`, tags: ['t'] }],
  ['GET /ssh-keys/{key}?include=owner'],

  ['GET /projects/{a}/devices?tag=even'],
  ['GET /projects/{a}/devices?tag=eve'],
  ['GET /devices/{device}'],
  ['GET /devices/{device}?exclude=plan,nonsense'],
  ['GET /devices/{device}?include=facility,hardware_reservation.device.project,nonsense.more'],
];

/** Sends a request to the initial world; shows the answer, with names for ids. */
async function told([ask, body, token]: RequestRow): Promise<string> {
  const { fake, fill, unfill } = await furnished();
  const [method, path] = fill(ask).split(' ') as [string, string];
  const isOrder = ask.startsWith(devices) && typeof body === 'object';
  const order = isOrder ? createOn(fake, 2, body!) : body;
  const sent = order === undefined ? order : fill(typeof order === 'string' ? order : json(order));
  const { project, user } = fake.tokens;
  const count = fake.devices().length;
  const shownToken = { none: null, nobody: 'nobody', project, user }[token ?? 'user'];
  const reply = await clientOf(fake, shownToken)(method, path, sent);
  const isMade = ask.startsWith(devices) && reply.status === 201;
  expect([fake.devices().length, fake.violations()]).toEqual([count + (isMade ? 1 : 0), []]);
  const line = [ask, body === undefined ? '' : json(body), token ?? ''].join(' ').trimEnd();
  const fields = Object.entries(reply.body ?? {}).map(
    ([name, value]) => ` ${json(name)}:${json(value)}\n`,
  );
  return unfill(`${line}\n${reply.status}\n${fields.join('')}`).replaceAll(PASSWORD, '$1');
}
const json = (value: unknown) => JSON.stringify(value);

test('answers as described, field by field', async () => {
  const answers: string[] = [];
  for (const row of ASKED) answers.push(await told(row));
  await expect(answers.join('\n')).toMatchFileSnapshot('golden/answers.txt');
});

testRows([
  ['reboot', ['active', 'failed']],
  ['power_off', ['active']],
  ['power_on', ['inactive']],
  ['reinstall', ['active', 'inactive', 'failed']],
])('accepts the action %s in %j only', async (type, takes) => {
  const fake = await start();
  const id = await createDevice(fake);
  const states = ['queued', 'provisioning', 'active', 'inactive', 'failed', 'reinstalling'];
  for (const state of states) {
    fake.setDeviceState(id, state);
    const reply = await clientOf(fake)('POST', `/devices/${id}/actions`, { type });
    expect([state, reply.status]).toEqual([state, takes.includes(state) ? 202 : 422]);
  }
});

testRows([
  [{}, ['in the project', 'of the user']],
  [{ project_ssh_keys: [] }, ['in the project', 'of the user']],
  [{ project_ssh_keys: ['in the project'] }, ['in the project']],
] as const)(
  'installs the keys on a machine: created with %j, it gets %j',
  async (lists, labels) => {
    const assigned: string[] = [];
    const hooks = hooksOf((_, { authorizedKeys = [] }) => void assigned.push(...authorizedKeys));
    const fake = await start({ hooks });
    const call = clientOf(fake);
    const inProject = `/projects/${fake.projectId}/ssh-keys`;
    const made = await call('POST', inProject, { label: 'in the project', key: `${KEY}\n` });
    await call('POST', '/ssh-keys', { label: 'of the user', key: OTHER_KEY });
    const order = json(lists).replace('in the project', String(made.body['id']));
    const id = await createDevice(fake, 0, JSON.parse(order) as object);
    const { body } = await call('GET', `/devices/${id}?include=ssh_keys`);
    expect(body['ssh_keys']!.map((key) => key['label'])).toEqual(labels);
    await fake.advance(30_000);
    expect(assigned).toEqual(labels.map((label) => (label === 'in the project' ? KEY : OTHER_KEY)));
  },
);

test('deletes a project while its devices are leaving', async () => {
  const fake = await start();
  const call = clientOf(fake);
  const { body } = await call('POST', '/projects', { name: 'b' });
  const order = createOn(fake, 0, onDemand);
  const made = await call('POST', `/projects/${String(body['id'])}/devices`, order);
  await fake.advance(ACTIVE_MS);
  const path = `/projects/${String(body['id'])}`;
  expect((await call('DELETE', path)).status).toBe(403);
  await call('DELETE', `/devices/${String(made.body['id'])}`);
  expect((await call('DELETE', path)).status).toBe(204);
  expect((await call('GET', `/devices/${String(made.body['id'])}`)).status).toBe(404);
  await fake.advance(60_000);
  expect([fake.devices(), fake.violations()]).toEqual([[], []]);
});

const many = (count: number) =>
  parseWorld({
    devices: Array.from({ length: count }, (_, i) => ({
      hostname: `host-${String((i * 7) % count).padStart(4, '0')}`,
    })),
  });
const hosts = (body: ServerJson) => body['devices']!.map((one) => String(one['hostname']));

test('links through all pages of devices, also when one is added meanwhile', async () => {
  const fake = await start({ world: many(25) });
  const call = clientOf(fake);
  const walk = async () => {
    const seen: string[] = [];
    let next: string | null = `/projects/${fake.projectId}/devices?per_page=7&sort_by=hostname`;
    while (next !== null) {
      const { body }: { body: ServerJson } = await call('GET', next);
      seen.push(...hosts(body));
      next = body['meta']!['next'] === null ? null : String(body['meta']!['next']!['href']);
    }
    return seen;
  };
  const all = await walk();
  expect([all.length, all]).toEqual([25, all.toSorted()]);
  await call('POST', `/projects/${fake.projectId}/devices`, {
    ...{ hostname: 'a', plan: 'm3.large.x86', operating_system: 'debian_12', metro: 'fr' },
  });
  expect(await walk()).toEqual(['a', ...all]);
});

test('describes a page', async () => {
  const fake = await start({ world: many(25) });
  const path = `/projects/${fake.projectId}/devices`;
  const query = 'per_page=10&sort_by=hostname&sort_direction=desc';
  const { body } = await clientOf(fake)('GET', `${path}?page=2&${query}`);
  const link = (page: number) => ({ href: `${path}?${query}&page=${page}` });
  expect(body['meta']).toEqual({
    ...{ total: 25, current_page: 2, last_page: 3 },
    ...{ first: link(1), self: link(2), previous: link(1), next: link(3), last: link(3) },
  });
  expect(hosts(body)[0]).toBe('host-0014');
});

testRows([
  ['per_page=5000', 25, true],
  ['per_page=0', 1, false],
  ['per_page=x', 10, false],
  ['page=3', 5, true],
  ['page=9', 0, true],
])('shows for %s %i devices; last page: %j', async (query, count, isLast) => {
  const fake = await start({ world: many(25) });
  const { body } = await clientOf(fake)('GET', `/projects/${fake.projectId}/devices?${query}`);
  expect([hosts(body).length, body['meta']!['next'] === null]).toEqual([count, isLast]);
});

test('lets its owner set device states and put strangers on reservations', async () => {
  const fake = await start();
  const admin = adminOf(fake);
  const device = `/devices/${await createDevice(fake)}/state`;
  const [taken, free] = fake.reservations().map(({ id }) => `/reservations/${id}/snatch`);
  const statuses = [
    (await admin('POST', device, { state: 'weird' })).status,
    (await admin('POST', device, { state: 'Odd one' })).status,
    (await admin('POST', '/devices/none/state', { state: 'failed' })).status,
    (await admin('POST', taken!, {})).status,
    (await admin('POST', free!, {})).status,
  ];
  expect(statuses).toEqual([200, 422, 404, 409, 200]);
  expect(fake.devices().map(({ state }) => state)).toEqual(['weird', 'active']);
  expect((await admin('POST', device, { state: 'deleted' })).status).toBe(200);
  await fake.advance(240_000);
  await expect(createDevice(fake)).resolves.toEqual(expect.any(String));
});

test('records everything but user data in the journal', async () => {
  const fake = await start();
  const secret = { userdata: 'geheim', customdata: { password: 'geheim' } };
  const id = await createDevice(fake, 0, secret);
  await clientOf(fake)('PATCH', `/devices/${id}`, { ...secret, root_password: 'geheim' });
  expect(fake.requests()).toMatchObject([
    { route: '/projects/{id}/devices', body: { hostname: 'machine-0', userdata: '***' } },
    { route: '/devices/{id}', status: 200, body: { customdata: '***', root_password: '***' } },
  ]);
  for (const one of ['geheim', ...Object.values(fake.tokens)]) {
    expect(json(fake.requests())).not.toContain(one);
  }
});
