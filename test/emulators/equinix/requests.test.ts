import { expect } from 'vitest';
import { parseWorld } from '../../../emulators/equinix/world.ts';
import { testRows } from '../../support/rows.ts';
import { ACTIVE_MS, clientOf, createDevice, KEY, OTHER_KEY, start } from './harness.ts';

const NONE = '00000000-0000-4000-8000-000000000000';
const JSON_TYPE = 'application/json; charset=utf-8';
const world = parseWorld({
  organizations: [{ name: 'ours' }, { name: 'theirs' }],
  projects: [{ name: 'a' }, { name: 'b' }, { name: 'c', organization: 'theirs' }],
  tokens: [{ token: 'other-token', scope: 'user', organization: 'theirs' }],
  facilities: [{ code: 'fr8', metro: 'fr' }],
  reservations: [
    { count: 3 },
    { provisionable: false },
    { spare: true },
    { needOfService: true },
    { project: 'b' },
    { project: 'c' },
  ],
  keys: [{ label: 'fleet', key: KEY }],
});

/** The world with an active device on its first reservation and a locked one on its second. */
async function furnished() {
  const fake = await start({ world, knobs: { onDemandStock: 3 } });
  const device = await createDevice(fake, 0, { tags: ['even', 'x'] });
  const locked = await createDevice(fake, 1, { locked: true });
  await fake.advance(ACTIVE_MS);
  const [key] = (await clientOf(fake)('GET', '/ssh-keys')).body['ssh_keys']!;
  const reservations = fake.reservations();
  const names: Record<string, string> = {
    ...Object.fromEntries(reservations.map(({ id }, index) => [`r${index}`, id])),
    ...{ a: fake.projectId, b: reservations[6]!.projectId, c: reservations[7]!.projectId },
    ...{ organization: fake.organizationId, device, locked, key: String(key!['id']) },
    short: reservations[2]!.id.slice(0, 8),
  };
  const fill = (text: string) => text.replaceAll(/\{(\w+)\}/g, (all, name) => names[name] ?? all);
  return { fake, fill };
}

const order = { hostname: 'new', plan: 'm3.large.x86', operating_system: 'ubuntu_22_04' };
const UNAUTHORIZED = { error: 'Invalid authentication token' };
const NOT_FOUND = { errors: ['Not found'] };
const LOCKED = { errors: ['Cannot delete a locked item'] };
const plan = 'c3.small.x86';
const wish = (place: object, quantity: string, available: boolean) => ({
  servers: [{ ...place, plan, quantity, available }],
});

/** A request, the status of its answer, what the answer shows, the body of the request, and whose it is. */
type Row = [
  ask: string,
  status: number,
  shown?: object | RegExp | null,
  body?: unknown,
  token?: 'none' | 'nobody' | 'other-token' | 'readOnly' | 'project',
];
const ANSWERS: readonly Row[] = [
  ['GET /user', 401, UNAUTHORIZED, undefined, 'none'],
  ['GET /user', 401, UNAUTHORIZED, undefined, 'nobody'],
  ['GET /devices/{device}', 200, { id: '{device}' }, undefined, 'readOnly'],
  ['POST /projects/{a}/devices', 403, null, {}, 'readOnly'],
  ['PUT /devices/{device}', 403, null, {}, 'readOnly'],
  ['DELETE /devices/{device}', 403, null, {}, 'readOnly'],
  ['POST /devices/{device}/actions', 403, null, {}, 'readOnly'],
  ['POST /ssh-keys', 403, null, {}, 'readOnly'],
  ['POST /hardware-reservations/{r2}/move', 403, null, {}, 'readOnly'],
  ['POST /capacity/metros', 200, null, { servers: [] }, 'readOnly'],
  ['GET /hardware-reservations/{r2}', 200, { provisionable: true }, undefined, 'project'],
  ['GET /hardware-reservations/{r6}', 404, NOT_FOUND, undefined, 'project'],
  ['GET /projects/{b}/devices', 404, NOT_FOUND, undefined, 'project'],
  ['POST /ssh-keys', 403, null, { label: 'x', key: KEY }, 'project'],
  [
    'GET /organizations/{organization}/hardware-reservations',
    200,
    { meta: { total: 6 } },
    undefined,
    'project',
  ],
  [
    'GET /devices/{device}',
    403,
    { errors: ['You are not authorized to view this device'] },
    undefined,
    'other-token',
  ],
  ['GET /hardware-reservations/{r2}', 403, null, undefined, 'other-token'],
  ['GET /hardware-reservations/{r7}', 200, null, undefined, 'other-token'],
  ['GET /projects/{a}/ssh-keys', 404, null, undefined, 'other-token'],
  ['POST /projects/{a}/ssh-keys', 404, null, { label: 'x', key: KEY }, 'other-token'],

  ['GET /nowhere', 404, NOT_FOUND],
  [`GET /devices/${NONE}`, 404, NOT_FOUND],
  ['GET /devices/short', 404, NOT_FOUND],
  [`GET /projects/${NONE}`, 404, NOT_FOUND],
  ['GET /projects/', 200, { projects: [{ name: 'a' }, { name: 'b' }] }],
  ['DELETE /user', 405, /./],
  ['POST /projects/{a}/devices', 400, /./, '{"hostname":'],
  ['POST /projects/{a}/devices', 422, null, '[]'],
  ['POST /projects/{a}/devices', 422, /^tags: /, { ...order, tags: 'one' }],

  ...['{r0}', '{r3}', '{r4}', '{r5}'].map((hardware_reservation_id): Row => {
    const message = /Server is not provisionable/;
    return ['POST /projects/{a}/devices', 422, message, { ...order, hardware_reservation_id }];
  }),
  ...['{short}', '{r6}'].map((hardware_reservation_id): Row => {
    const message = /^hardware_reservation_id: /;
    return ['POST /projects/{a}/devices', 422, message, { ...order, hardware_reservation_id }];
  }),
  ['PUT /devices/{device}', 200, { hostname: 'deleted-x' }, { hostname: 'deleted-x' }],
  ['PATCH /devices/{device}', 200, { locked: true, tags: ['even', 'x'] }, { locked: true }],
  ['PUT /devices/{device}', 422, /^hostname: /, { hostname: 'a b' }],
  ['PUT /devices/{device}', 422, /^locked: /, { locked: 'yes' }],
  ['PUT /devices/{device}', 422, /^tags/, { tags: [1] }],
  ['PUT /devices/{device}', 200, { customdata: { hi: 1 } }, { customdata: '{"hi":1}' }],
  [
    'PUT /devices/{device}?description=query&locked=True&userdata=secret',
    200,
    { description: 'body', locked: true, userdata: 'secret' },
    { description: 'body' },
  ],
  ['DELETE /devices/{locked}', 422, LOCKED],
  ['DELETE /devices/{device}', 422, /^force_delete: /, { force_delete: 'yes' }],
  ['DELETE /devices/{device}?force_delete=false', 204],
  ['POST /devices/{device}/actions?type=power_off', 202],
  ['POST /devices/{device}/actions', 422, /^type: /, { type: 'dance' }],
  ['POST /devices/{device}/actions', 422, /^type: /, {}],
  ['POST /devices/{device}/actions', 422, null, { type: 'reinstall', operating_system: 'minix_1' }],
  ['POST /devices/{locked}/actions', 422, null, { type: 'reinstall' }],
  ['POST /devices/{locked}/actions', 202, null, { type: 'reboot' }],

  ['POST /hardware-reservations/{r2}/move', 404, null, { project_id: NONE }],
  ['POST /hardware-reservations/{r2}/move', 403, null, { project_id: '{c}' }],
  ['POST /hardware-reservations/{r2}/move', 422, null, {}],
  ['POST /hardware-reservations/{r0}/move', 422, null, { project_id: '{b}' }],
  [
    'POST /hardware-reservations/{r2}/move',
    201,
    { project: { href: '/projects/{b}' } },
    { project_id: '{b}' },
  ],
  ['POST /hardware-reservations/{r4}/activate', 201, { provisionable: true }, {}],

  ...['', 'ssh-ed25519', 'ssh-ed25519 AAAA', `ssh-rsa ${KEY.split(' ')[1]}`, `${KEY}\n${KEY}`].map(
    (key): Row => ['POST /ssh-keys', 422, /^key: /, { label: 'x', key }],
  ),
  ['PUT /ssh-keys/{key}', 422, /^key: /, { key: 'nonsense' }],
  ['PATCH /ssh-keys/{key}', 200, { label: 'fleet', key: OTHER_KEY }, { key: OTHER_KEY }],
  ['POST /ssh-keys', 422, /^instances_ids: /, { label: 'x', key: KEY, instances_ids: ['{key}'] }],
  [
    'POST /projects/{a}/ssh-keys',
    201,
    { key: `  ${OTHER_KEY}  \n`, tags: ['t'], owner: { href: '/projects/{a}' } },
    { label: 'x', key: `  ${OTHER_KEY}  \n`, tags: ['t'], instances_ids: null },
  ],
  ['GET /projects/{a}/ssh-keys?query=nothing', 200, { ssh_keys: [] }],
  ['GET /ssh-keys/{key}?include=owner', 200, { owner: { name: 'a' } }],

  ...[
    ['tag=even', 1],
    ['tag=eve', 0],
    ['hostname=machine-0', 1],
    ['search=MACHINE', 2],
    ['search=nothing', 0],
    ['facility=fr2', 2],
    ['metro=am', 0],
    ['reserved=true', 2],
    ['reserved=false', 0],
    ['has_termination_time=true', 0],
    ['mac_address=02:00:00:00:00:00', 0],
  ].map(([query, total]): Row => [`GET /projects/{a}/devices?${query}`, 200, { meta: { total } }]),
  ...[
    ['', 6],
    ['provisionable=only', 1],
    ['state=spare', 1],
    ['state=need_of_service', 1],
    ['state=active', 4],
    ['query=nothing-like-this', 0],
  ].map(([query, total]): Row => [
    `GET /projects/{a}/hardware-reservations?${query}`,
    200,
    { meta: { total } },
  ]),
  ['GET /organizations/{organization}/devices', 200, { meta: { total: 2 } }],
  ['GET /organizations/{organization}/hardware-reservations', 200, { meta: { total: 7 } }],
  [`GET /plans?type=standard&slug=${plan}`, 200, { plans: [{ slug: plan }] }],
  ['GET /plans?slug=c3', 200, { plans: [] }],
  ['GET /plans?type=custom', 200, { plans: [] }],
  ['GET /plans?categories[]=storage&categories[]=gpu', 200, { plans: [] }],

  ['GET /capacity', 200, { capacity: { fr2: { 'm3.large.x86': { level: 'normal' } } } }],
  ['GET /capacity/metros', 200, { capacity: { fr: { [plan]: { level: 'normal' } } } }],
  [
    'POST /capacity/metros',
    200,
    wish({ metro: 'fr' }, '6', true),
    { servers: [{ metro: 'fr', plan, quantity: '6' }] },
  ],
  [
    'POST /capacity',
    200,
    wish({ facility: 'fr8' }, '4', false),
    { servers: [{ facility: 'fr8', plan, quantity: 4 }] },
  ],
  ['POST /capacity/metros', 422, /^servers: /, {}],
  ['POST /capacity/metros', 422, /^servers\.0\.metro: /, { servers: [{ metro: 'xx', plan }] }],
  ['POST /capacity', 422, /^servers\.0\.facility: /, { servers: [{ metro: 'fr', plan }] }],
  [
    'POST /capacity',
    422,
    /^servers\.0\.quantity: /,
    { servers: [{ facility: 'fr2', plan, quantity: 'two' }] },
  ],
];

testRows(ANSWERS)('answers %s with %i', async (...row: Row) => {
  const [ask, status, shown, body, token] = row;
  const { fake, fill } = await furnished();
  const [method, path] = fill(ask).split(' ') as [string, string];
  const sent = body === undefined ? body : fill(typeof body === 'string' ? body : text(body));
  const { readOnly, project, user } = fake.tokens;
  const tokens = { none: null, nobody: 'nobody', 'other-token': 'other-token', readOnly, project };
  const reply = await clientOf(fake, token ? tokens[token] : user)(method, path, sent);
  expect(reply.status).toBe(status);
  if (shown instanceof RegExp) expect(reply.body['errors']!.join()).toMatch(shown);
  else if (shown) expect(reply.body).toMatchObject(JSON.parse(fill(text(shown))) as object);
  const type = reply.body === undefined ? null : JSON_TYPE;
  expect(reply.headers.get('content-type')).toBe(type);
  expect(fake.violations()).toEqual([]);
  expect(text(fake.requests())).not.toContain('"secret"');
});
const text = (value: unknown) => JSON.stringify(value);

testRows([
  ['reboot', ['active', 'failed']],
  ['rescue', ['active']],
  ['power_off', ['active']],
  ['power_on', ['inactive']],
  ['reinstall', ['active', 'inactive', 'failed']],
])('takes the action %s in %j only', async (type, takes) => {
  const fake = await start();
  const id = await createDevice(fake);
  const states = ['queued', 'provisioning', 'active', 'inactive', 'failed', 'reinstalling'];
  for (const state of states) {
    fake.setDeviceState(id, state);
    const reply = await clientOf(fake)('POST', `/devices/${id}/actions`, { type });
    expect([state, reply.status]).toEqual([state, takes.includes(state) ? 202 : 422]);
  }
});
