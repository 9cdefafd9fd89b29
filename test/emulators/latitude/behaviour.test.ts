import { expect, test } from 'vitest';
import type { SimulatedDevice } from '../../../emulators/kit/hooks.ts';
import { testRows } from '../../support/rows.ts';
import { publicKeyLine } from '../../adapters/provider/driver-stand.ts';
import { base64, MINUTE, PLACE, type LatitudeReply, SECOND, startLatitude } from './harness.ts';

const HOUR = 60 * MINUTE;
const KEY = publicKeyLine(1);

/** Servers that run, are off, locked or being deployed, a key and user data. */
async function startFurnished() {
  const latitude = await startLatitude({ limits: { reads: 10_000, writes: 10_000 } });
  const { fake, ask, create, write, record, running, act } = latitude;
  const key = write('ssh_keys', { project: fake.project, name: 'fleet', public_key: KEY });
  const ids: Record<string, string> = {
    on: await running('shep-a'),
    off: await running('shep-b', { plan: 'c2-small-x86' }),
    locked: await running('shep-c', { site: 'SAO' }),
    key: (await ask('POST', '/ssh_keys', { body: key })).data.id,
    ud: (await record('mark')).data.id,
    project: fake.project,
    reserved: fake.reservedProject,
  };
  await act(ids['off']!, 'power_off');
  fake.addFault({ match: { server: ids['locked']! }, effect: { type: 'locked' } });
  await fake.advance(5 * SECOND);
  const place = { project: ids['reserved'], billing: 'yearly' };
  ids['deploying'] = (await create('shep-d', place)).data.id;
  const fill = (text: string) => text.replaceAll(/\{(\w+)\}/g, (all, name) => ids[name] ?? all);
  return { ...latitude, ids, fill };
}

const TYPES = { actions: 'actions', reinstall: 'reinstalls', servers: 'servers' };
const typeOf = (path: string): string => {
  const [, kind = '', , action] = path.split('/');
  return TYPES[(action ?? kind) as keyof typeof TYPES] ?? kind;
};

/** A request, and its attributes; a creation of a server also gets a place. */
type LatitudeRow = readonly [request: string, attributes?: object];
const REFUSED: readonly LatitudeRow[] = [
  ...Object.entries({
    plan: ['c9-x'],
    site: ['OSLO', 'ash'],
    operating_system: ['minix'],
    project: ['proj_none'],
    user_data: ['ud_none'],
    ssh_keys: [['ssh_none'], 'ssh_none'],
    hostname: [7, 'a_b', 'a-', 'a'.repeat(33)],
    raid: ['raid-5'],
    billing: ['yearly', 'daily'],
    tags: [[]],
  }).flatMap(([name, values]) =>
    values.map((value): LatitudeRow => ['POST /servers', { [name]: value }]),
  ),
  ['POST /servers', { project: null, plan: '', site: '', operating_system: null, hostname: '' }],
  ['POST /servers', { project: '{reserved}', billing: 'hourly' }],
  ['POST /servers/{on}/actions', { action: 'explode' }],
  ['POST /servers/{off}/actions', { action: 'reboot' }],
  ['POST /servers/{deploying}/actions', { action: 'reboot' }],
  ['POST /servers/{locked}/actions', { action: 'reboot' }],
  ['POST /servers/{locked}/schedule_deletion'],
  ['POST /servers/{deploying}/reinstall', {}],
  ['POST /servers/{on}/reinstall', { operating_system: 'minix' }],
  ['POST /servers/{on}/reinstall', { plan: PLACE.plan }],
  ['DELETE /servers/{locked}'],
  ['POST /user_data', { description: 'x', content: 'not base64!' }],
  ['POST /user_data', { content: 'eA==' }],
  ['POST /user_data', { description: 'x'.repeat(256), content: 'eA==' }],
  ['POST /user_data', { description: 'x', content: 'eA==', name: 'y' }],
  ['POST /ssh_keys', { name: 'a', public_key: 'AAAA' }],
  ['GET /servers/sv_none'],
  ['GET /servers?page[size]=0'],
  ['GET /servers?page[size]=101'],
  ['GET /servers?page[number]=x'],
  ['GET /servers?filter[colour]=red'],
  ['GET /projects?filter[project]=x'],
];
/** Invalid documents of a creation. */
const DOCUMENTS = [
  undefined,
  { type: 'servers' },
  { data: { attributes: {} } },
  { data: { type: 'server', attributes: {} } },
  { data: { type: 'servers', attributes: 'x' } },
];
const ANSWERED: readonly LatitudeRow[] = [
  ['GET /projects'],
  ['GET /plans/operating_systems'],
  ['GET /servers/{on}'],
  ['GET /servers/{on}/deploy_config'],
  ['GET /user_data?filter[project]={project}'],
  ['GET /user_data/{ud}'],
  ['GET /ssh_keys'],
  ['POST /servers', { hostname: 'a'.repeat(32) }],
  ['POST /servers', { ssh_keys: ['{key}'], user_data: '{ud}', raid: 'raid-1' }],
  ['POST /servers/{on}/actions', { action: 'reboot' }],
  ['POST /servers/{off}/reinstall', {}],
  ['POST /servers/{on}/schedule_deletion'],
  ['GET /servers?stats[total]=count&page[size]=1'],
  ['DELETE /servers/{on}?reason=done'],
  ['PATCH /user_data/{ud}', { content: 'eA==' }],
  ['DELETE /user_data/{ud}'],
];

test('answers as the vendor describes its API, field by field', async () => {
  const { fake, ask, fill, write, record } = await startFurnished();
  const told: string[] = [];
  async function tell(line: string, body?: unknown) {
    const [method, path] = fill(line).split(' ') as [string, string];
    const reply = await ask(method, path, body === undefined ? {} : { body });
    expect(reply.headers.get('x-request-id')).toMatch(/^\S+$/);
    const shown = reply.text && JSON.stringify(JSON.parse(reply.text), null, 1);
    told.push(`${reply.status} ${reply.headers.get('content-type')} ${shown}\n`);
  }
  async function tellRow([line, attributes]: LatitudeRow) {
    told.push(`${line} ${JSON.stringify(attributes) ?? ''}`);
    const [method, path] = fill(line).split(' ') as [string, string];
    const usual = {
      project: '{project}',
      ...(path === '/servers' && { hostname: 'new', ...PLACE }),
    };
    const isNew = method === 'POST' && !path.includes('sv_');
    const id = method === 'PATCH' ? path.split('/')[2] : undefined;
    const document = write(typeOf(path), { ...(isNew && usual), ...attributes }, id);
    await tell(line, attributes && fill(JSON.stringify(document)));
  }
  const before = fake.servers();
  for (const row of REFUSED) await tellRow(row);
  for (const document of DOCUMENTS) {
    told.push(`POST /servers ${JSON.stringify(document)}`);
    await tell('POST /servers', document);
  }
  told.push('PATCH /user_data/{ud}, of another one');
  await tell('PATCH /user_data/{ud}', write('user_data', {}, (await record('other')).data.id));
  expect(fake.servers()).toEqual(before);
  for (const row of ANSWERED) await tellRow(row);
  await expect(told.join('\n')).toMatchFileSnapshot('golden/answers.txt');
});

test('accepts the key bare or as a bearer, and no other', async () => {
  const { fake, ask } = await startLatitude();
  const statusOf = async (authorization: string) =>
    (await ask('GET', '/servers', { headers: { authorization } })).status;
  const { token } = fake;
  for (const right of [token, `Bearer ${token}`]) expect(await statusOf(right)).toBe(200);
  for (const wrong of ['', 'ak_wrong', 'Bearer', `Basic ${token}`, `${token} ${token}`]) {
    expect(await statusOf(wrong), wrong).toBe(401);
  }
});

test('allows 60 reads and 20 writes per minute, counted separately', async () => {
  const { fake, ask, act } = await startLatitude();
  const read = () => ask('GET', '/projects');
  const write = () => act('sv_none', 'reboot');
  const passing = async (count: number, send: () => Promise<LatitudeReply>) => {
    const replies = [];
    for (let n = 0; n < count; n++) replies.push(await send());
    return replies.filter(({ status }) => status !== 429).length;
  };
  expect(await passing(61, read)).toBe(60);
  await fake.advance(30 * SECOND);
  expect(await passing(21, write)).toBe(20);
  const [refused] = (await read()).errors;
  expect(refused).toMatchObject({ code: 'RATE_LIMIT_EXCEEDED', meta: { retry_after: 30 } });
  await fake.advance(30 * SECOND);
  expect([(await read()).status, (await write()).status]).toEqual([200, 429]);
});

test('reduces stock by plan and site, and returns it', async () => {
  const { ask, create } = await startLatitude({ stock: { [PLACE.plan]: { ASH: 1 } } });
  const { id } = (await create('a')).data;
  expect((await create('b')).errors[0]?.code).toBe('out_of_stock');
  expect((await create('b', { site: 'SAO' })).errors[0]?.code).toBe('out_of_stock');
  await ask('DELETE', `/servers/${id}`);
  expect((await create('b')).status).toBe(201);
});

let listing: ReturnType<typeof startFurnished> | undefined;
testRows([
  ['/servers?filter[hostname]=SHEP-A', ['shep-a']],
  ['/servers?filter[hostname]=shep', []],
  ['/servers?filter[project]={reserved}', ['shep-d']],
  ['/servers?page[size]=3', ['shep-a', 'shep-b', 'shep-c']],
  ['/servers?page[size]=3&page[number]=2', ['shep-d']],
  ['/servers?page[size]=3&page[number]=3', []],
  ['/user_data?filter[project]={project}', ['mark']],
  ['/user_data?filter[project]={reserved}', []],
  ['/ssh_keys?filter[project]={project}', ['fleet']],
  ['/projects', ['fleet', 'reserved']],
])('lists for %s %j', async (path, found) => {
  const { ask, fill } = await (listing ??= startFurnished());
  const { list } = await ask('GET', fill(path));
  const shown = list.map(
    ({ attributes: { hostname, name, description } }) => hostname ?? name ?? description,
  );
  expect(shown).toEqual(found);
});

test('shows 20 rows on a page, and the total only on request', async () => {
  const { fake, ask } = await startLatitude();
  for (let n = 0; n < 25; n += 1) fake.addStranger(`a${n}`);
  const { list, meta } = await ask('GET', '/servers?stats[total]=count');
  expect([list.length, meta.stats?.total.count]).toEqual([20, 25]);
  expect((await ask('GET', '/servers')).meta).toEqual({});
});

test('hides keys and the content of user data in its journal', async () => {
  const { fake, ask, record, write } = await startLatitude();
  const { id } = (await record('mark', '#cloud-config\n# secret\n')).data;
  const content = base64('#cloud-config\n# other\n');
  await ask('PATCH', `/user_data/${id}`, { body: write('user_data', { content }, id) });
  await ask('POST', '/user_data', { body: '{"data": {"attributes": {"content": "c2VjcmV0"' });
  const journal = JSON.stringify(fake.requests());
  expect(fake.requests().map(({ status }) => status)).toEqual([201, 200, 400]);
  for (const secret of [fake.token, content, 'secret', 'c2VjcmV0', 'Bearer']) {
    expect(journal).not.toContain(secret);
  }
  expect(journal).toContain('"content":"***"');
});

test('deploys, reboots, switches, reinstalls and deletes a server in its times', async () => {
  const { fake, ask, create, act, reinstall, record, server } = await startLatitude();
  const [first, second] = [(await record('1')).data.id, (await record('2')).data.id];
  const { id } = (await create('shep-ash-1', { user_data: first, raid: 'raid-1' })).data;
  const config = async () => (await ask('GET', `/servers/${id}/deploy_config`)).data.attributes;
  const before = await config();
  const change = { user_data: second, hostname: 'b', operating_system: 'debian_12_x64' };
  const steps: readonly [request: (() => Promise<unknown>) | null, ms: number, status: string][] = [
    [null, 5 * SECOND - 1, 'starting_deploy'],
    [null, 1, 'on'],
    // The installation has not happened yet.
    [async () => expect((await act(id, 'reboot')).status).toBe(422), 0, 'on'],
    [async () => expect((await reinstall(id)).status).toBe(422), 0, 'on'],
    [null, 20 * SECOND, 'deploying'],
    [null, 10 * MINUTE - 1, 'deploying'],
    [null, 1, 'on'],
    [() => act(id, 'power_off'), 5 * SECOND - 1, 'on'],
    [null, 1, 'off'],
    [() => reinstall(id), MINUTE - 1, 'disk_erasing'],
    [async () => expect(await config()).toEqual(before), 1, 'deploying'],
    [null, 10 * MINUTE, 'on'],
    [() => reinstall(id, { ...change, raid: 'raid-0' }), 11 * MINUTE, 'on'],
    [() => act(id, 'reboot'), MINUTE, 'on'],
  ];
  for (const [step, [request, ms, status]] of steps.entries()) {
    await request?.();
    await fake.advance(ms);
    expect([step, (await server(id))['status']]).toEqual([step, status]);
  }
  expect(await config()).toMatchObject({ ...change, raid: 'raid-0' });
  expect((await ask('DELETE', `/servers/${id}`)).status).toBe(204);
  expect((await ask('GET', `/servers/${id}`)).errors).toMatchObject([{ code: 'not_found' }]);
  expect(fake.servers()).toEqual([]);
});

testRows([
  ['hourly', HOUR],
  ['monthly', 30 * 24 * HOUR],
] as const)('deletes a server that is paid %s at the end of its cycle', async (billing, ms) => {
  const { fake, ask, running, server } = await startLatitude();
  const id = await running('a', { billing });
  const { attributes } = (await ask('POST', `/servers/${id}/schedule_deletion`)).data;
  const { scheduled_deletion_at: atTime } = attributes;
  expect((await server(id))['scheduled_deletion_at']).toBe(atTime);
  await fake.advance(ms - 11 * MINUTE - 1);
  expect(fake.servers()).toHaveLength(1);
  await fake.advance(1);
  expect(fake.servers()).toEqual([]);
});

test('keeps a machine in step with its server', async () => {
  const calls: unknown[] = [];
  const seen = ({ user, userdata, authorizedKeys }: SimulatedDevice) => [
    ...[user, userdata, authorizedKeys.length],
  ];
  const hooks = {
    async assign(device: SimulatedDevice) {
      calls.push(['assign', ...seen(device)]);
      return { address: '127.1.2.3', sshPort: 22 };
    },
    up: async () => void calls.push('up'),
    down: async () => void calls.push('down'),
    reinstalled: async (_id: string, device: SimulatedDevice) =>
      void calls.push(['reinstalled', ...seen(device)]),
    gone: async () => void calls.push('gone'),
  };
  const { fake, ask, act, create, write, record, reinstall, server } = await startLatitude({
    hooks,
  });
  const key = write('ssh_keys', { project: fake.project, name: 'fleet', public_key: KEY });
  const { id: keyId } = (await ask('POST', '/ssh_keys', { body: key })).data;
  const { id: user_data } = (await record('a', 'first')).data;
  const { id, attributes } = (await create('a', { ssh_keys: [keyId], user_data })).data;
  expect(attributes['primary_ipv4']).toBe('127.1.2.3');
  const content = base64('later');
  await ask('PATCH', `/user_data/${user_data}`, {
    body: write('user_data', { content }, user_data),
  });
  const since = async (ms: number) => {
    await fake.advance(ms);
    return calls.splice(0);
  };
  expect(await since(25 * SECOND)).toEqual([['assign', 'ubuntu', null, 0]]);
  // The user data of the request.
  expect(await since(10 * MINUTE)).toEqual([['assign', 'ubuntu', 'first', 1], 'up']);
  await act(id, 'reboot');
  expect([await since(5 * SECOND), await since(55 * SECOND)]).toEqual([['down'], ['up']]);
  await act(id, 'power_off');
  expect(await since(5 * SECOND)).toEqual(['down']);
  await act(id, 'power_on');
  expect(await since(10 * SECOND)).toEqual(['up']);
  await reinstall(id, { operating_system: 'debian_12_x64' });
  expect(await since(0)).toEqual(['down']);
  expect(await since(11 * MINUTE)).toEqual([['reinstalled', 'debian', 'later', 1], 'up']);
  expect((await server(id))['primary_ipv4']).toBe('127.1.2.3');
  await ask('DELETE', `/servers/${id}`);
  expect(await since(0)).toEqual(['gone']);
});

// The driver's tests show the other faults, and `every-emulator.test.ts` those of the wire.
test('lags in lists behind single reads', async () => {
  const { fake, ask, create, server } = await startLatitude();
  fake.addFault({ effect: { type: 'listLag', ms: 30 * SECOND } });
  const { id } = (await create('a')).data;
  const count = async () => (await ask('GET', '/servers')).list.length;
  await fake.advance(30 * SECOND - 1);
  expect([await count(), (await server(id))['hostname']]).toEqual([0, 'a']);
  await fake.advance(1);
  expect(await count()).toBe(1);
  await ask('DELETE', `/servers/${id}`);
  expect(await count()).toBe(1);
  await fake.advance(30 * SECOND);
  expect(await count()).toBe(0);
});

test('fails a deployment half an hour after its request, and repairs it by a reinstall', async () => {
  const { fake, create, reinstall, server } = await startLatitude();
  fake.addFault({ effect: { type: 'deployFails' }, times: 1 });
  const { id } = (await create('a')).data;
  await fake.advance(30 * MINUTE - 1);
  expect((await server(id))['status']).toBe('deploying');
  await fake.advance(1);
  expect((await server(id))['status']).toBe('failed_deployment');
  expect((await reinstall(id)).status).toBe(201);
  await fake.advance(11 * MINUTE);
  expect((await server(id))['status']).toBe('on');
});

test('applies a rule to the page and the server that the rule names', async () => {
  const { fake, ask, create } = await startLatitude();
  const { id } = (await create('a')).data;
  const effect = { type: 'status', code: 500 } as const;
  fake.addFault({ effect, match: { route: '/servers/{server}', method: 'get', server: id } });
  fake.addFault({ effect, match: { page: 2 } });
  const paths = [
    `/servers/${id}`,
    `/servers/${id}/deploy_config`,
    '/servers',
    '/servers?page[number]=2',
  ];
  const statuses = [];
  for (const path of paths) statuses.push((await ask('GET', path)).status);
  expect(statuses).toEqual([500, 200, 200, 500]);
});
