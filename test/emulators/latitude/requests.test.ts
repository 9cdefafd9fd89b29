import { expect, test } from 'vitest';
import type { LatitudeEmulatorOptions } from '../../../emulators/latitude/options.ts';
import { generateHostKey, publicBlobOf } from '../../../emulators/hosts/keys.ts';
import { testRows } from '../../support/rows.ts';
import { MINUTE, PLACE, type Reply, SECOND, startLatitude } from './harness.ts';

const LINE = `ssh-ed25519 ${publicBlobOf(generateHostKey()).toString('base64')}`;
const MANY = { limits: { reads: 10_000, writes: 10_000 } };

/** Servers that run, that are off, locked and being deployed, a key and user data. */
async function furnished(options: Partial<LatitudeEmulatorOptions> = {}) {
  const latitude = await startLatitude({ ...MANY, ...options });
  const { fake, ask, post, create, record, running, act } = latitude;
  const key = { project: fake.project, name: 'fleet', public_key: LINE };
  const ids: Record<string, string> = {
    on: await running('shep-a'),
    off: await running('shep-b', { plan: 'c2-small-x86' }),
    locked: await running('shep-c', { site: 'SAO' }),
    key: (await post('/ssh_keys', 'ssh_keys', key)).data.id,
    ud: (await record('mark')).data.id,
    project: fake.project,
    reserved: fake.teams()[0]!.projects.find((one) => one.provisioningType === 'reserved')!.id,
    foreign: fake.teams()[1]!.projects[0]!.id,
  };
  await act(ids['off']!, 'power_off');
  await ask('POST', `/servers/${ids['locked']}/lock`);
  await fake.advance(5 * SECOND);
  ids['deploying'] = (await create('shep-d', { project: ids['reserved'] })).data.id;
  const fill = (text: string) => text.replaceAll(/\{(\w+)\}/g, (all, name) => ids[name] ?? all);
  return { ...latitude, ids, fill };
}

/** Status, and what the complaints are about: attributes, places in the document, parameters. */
const answerOf = ({ status, errors }: Reply): string =>
  [status, ...errors.flatMap(({ source = {} }) => source.pointer ?? source.parameter ?? [])]
    .join(' ')
    .replaceAll('/data/attributes/', '');

const TYPES = { actions: 'actions', reinstall: 'reinstalls', servers: 'servers' };
const typeOf = (path: string): string => {
  const [, kind = '', , action] = path.split('/');
  return TYPES[(action ?? kind) as keyof typeof TYPES] ?? kind;
};

/** A request, its answer, and the attributes that are sent; to a creation of servers a place is added. */
type Row = [ask: string, answer: string, attributes?: object | undefined, as?: 'other team'];
const ANSWERS: readonly Row[] = [
  ...Object.entries({
    plan: ['c9-x'],
    site: ['OSLO', 'ash'],
    operating_system: ['minix'],
    project: ['proj_none', '{foreign}'],
    user_data: ['ud_none'],
    ssh_keys: [['ssh_none'], 'ssh_none'],
    hostname: [7, 'a_b', 'a-', 'a'.repeat(33)],
    raid: ['raid-5'],
    billing: ['yearly', 'daily'],
    tags: [[]],
  }).flatMap(([name, values]) =>
    values.map((value): Row => ['POST /servers', `422 ${name}`, { [name]: value }]),
  ),
  ['POST /servers', '422 ssh_keys', { operating_system: 'ipxe', ssh_keys: ['{key}'] }],
  ['POST /servers', '422 raid', { operating_system: 'flatcar', raid: 'raid-1' }],
  ['POST /servers', '422 billing', { project: '{reserved}', billing: 'hourly' }],
  [
    'POST /servers',
    '422 project plan site operating_system hostname',
    { project: null, plan: '', site: '', operating_system: null, hostname: '' },
  ],
  ...['a', '1', 'a'.repeat(32), 'Shep-ASH-1', 'a.b'].map((hostname): Row => [
    'POST /servers',
    '201',
    { hostname },
  ]),

  ['POST /servers/{on}/actions', '422 action', { action: 'explode' }],
  ['POST /servers/{on}/actions', '422 action', { action: '' }],
  ['POST /servers/{on}/actions', '201', { action: 'reboot' }],
  ['POST /servers/{off}/actions', '422', { action: 'reboot' }],
  ['POST /servers/{off}/actions', '422', { action: 'power_off' }],
  ['POST /servers/{off}/actions', '201', { action: 'power_on' }],
  ['POST /servers/{deploying}/actions', '422', { action: 'reboot' }],
  ['POST /servers/{deploying}/actions', '422', { action: 'power_on' }],
  ['POST /servers/{locked}/actions', '422', { action: 'reboot' }],
  ['POST /servers/{deploying}/reinstall', '422', {}],
  ['POST /servers/{off}/reinstall', '201', {}],
  ['POST /servers/{on}/reinstall', '422 operating_system', { operating_system: 'minix' }],
  ['POST /servers/{on}/reinstall', '422 user_data', { user_data: 'ud_none' }],
  ['POST /servers/{on}/reinstall', '422 hostname', { hostname: 'a_b' }],
  ['POST /servers/{on}/reinstall', '422 raid', { raid: 'raid-5' }],
  ['POST /servers/{on}/reinstall', '422 plan', { plan: PLACE.plan }],
  ['PATCH /servers/{on}', '200', { hostname: 'b', billing: 'monthly', tags: [''] }],
  ['PATCH /servers/{on}', '200', { project: '{reserved}' }],
  ['PATCH /servers/{on}', '404', { project: 'proj_none' }],
  ['PATCH /servers/{on}', '404', { project: '{foreign}' }],
  ['PATCH /servers/{on}', '404', { tags: ['tag_none'] }],
  ['PATCH /servers/{on}', '422 hostname', { hostname: '-' }],
  ['DELETE /servers/{on}/schedule_deletion', '404'],
  ['DELETE /servers/{on}?reason=done', '204'],

  ['POST /user_data', '422 content', { description: 'x', content: 'not base64!' }],
  ['POST /user_data', '422 content', { description: 'x' }],
  ['POST /user_data', '422 description', { content: 'eA==' }],
  ['POST /user_data', '422 description', { description: 'x'.repeat(256), content: 'eA==' }],
  ['POST /user_data', '422 name', { description: 'x', content: 'eA==', name: 'y' }],
  ['PATCH /user_data/{ud}', '200', { content: 'eA==' }],
  ['DELETE /user_data/{ud}', '204'],
  ['POST /ssh_keys', '422 public_key', { name: 'a', public_key: 'ssh-ed25519 AAAA' }],
  ['POST /ssh_keys', '422 public_key', { name: 'a', public_key: `${LINE} again` }],

  ['GET /nowhere', '404'],
  ['PUT /servers', '405', {}],
  ['GET /servers/not-an-id', '404'],
  ['GET /servers/sv_none', '404'],
  ...['filter[colour]=red', 'page[size]=0', 'page[size]=x', 'page[number]=0', 'page[size]=101'].map(
    (query): Row => [`GET /servers?${query}`, `400 ${query.split('=')[0]}`],
  ),
  ['GET /servers?limit=5', '400 limit'],

  ...['/servers/{on}', '/servers/{on}/deploy_config', '/user_data/{ud}'].flatMap((path): Row[] => [
    [`GET ${path}`, '404', undefined, 'other team'],
    [`GET ${path}`, '200'],
  ]),
  ['DELETE /servers/{on}', '404', undefined, 'other team'],
  ['DELETE /user_data/{ud}', '404', undefined, 'other team'],
  ['POST /servers/{on}/actions', '404', { action: 'reboot' }, 'other team'],
  ['POST /servers/{on}/reinstall', '404', {}, 'other team'],
  ['POST /servers/{on}/lock', '404', undefined, 'other team'],
  ['POST /servers', '422 project', {}, 'other team'],
  ['POST /servers', '422 user_data', { project: '{foreign}', user_data: '{ud}' }, 'other team'],
  ['POST /user_data', '422 project', { description: 'x', content: 'eA==' }, 'other team'],
];

/** One emulator for all rows of a table that change nothing. */
const once = () => {
  let made: ReturnType<typeof furnished> | undefined;
  return () => (made ??= furnished());
};
const answering = once();
const listing = once();

testRows(ANSWERS)('answers %s with %s', async (asked, answer, attributes, as) => {
  const isChange = !asked.startsWith('GET') && answer.startsWith('2');
  const { fake, ask, fill, write } = await (isChange ? furnished() : answering());
  const [method, path] = fill(asked).split(' ') as [string, string];
  const usual = { project: '{project}', ...(path === '/servers' && { hostname: 'new', ...PLACE }) };
  const sent = { ...(asked.startsWith('POST /') && !path.includes('sv_') && usual), ...attributes };
  const id = method === 'PATCH' ? path.split('/')[2] : undefined;
  const body = attributes && fill(JSON.stringify(write(typeOf(path), sent, id)));
  const before = fake.servers();
  const reply = await ask(method, path, {
    ...(body !== undefined && { body }),
    ...(as && { token: fake.otherToken }),
  });
  expect(answerOf(reply)).toBe(answer);
  if (reply.status >= 400) expect(fake.servers()).toEqual(before);
});

testRows([
  [undefined, '400 /data'],
  ['{', '400'],
  [{ type: 'servers' }, '400 /data'],
  [{ data: [] }, '400 /data'],
  [{ data: { attributes: {} } }, '400 /data/type'],
  [{ data: { type: 'server', attributes: {} } }, '409 /data/type'],
  [{ data: { type: 'servers', attributes: 'x' } }, '400 /data/attributes'],
])('answers to a creation with the document %j with %s', async (body, answer) => {
  const { ask } = await startLatitude();
  expect(answerOf(await ask('POST', '/servers', { body }))).toBe(answer);
});

test('wants JSON, and the id of what is changed', async () => {
  const { ask, write, ids } = await furnished();
  const headers = { 'content-type': 'text/plain' };
  expect((await ask('POST', '/servers', { body: '{}', headers })).status).toBe(415);
  for (const [path, body] of [
    [`/servers/${ids['on']}`, write('servers', {})],
    [`/servers/${ids['on']}`, write('servers', {}, 'sv_other')],
    [`/user_data/${ids['ud']}`, write('user_data', {}, 'ud_other')],
  ] as const) {
    expect((await ask('PATCH', path, { body })).status).toBe(409);
  }
});

test('lets in with a key, bare or as a bearer, and tells another team nothing', async () => {
  const { fake, ask } = await furnished();
  const statusOf = async (authorization?: string) =>
    (
      await ask('GET', '/servers', {
        token: null,
        ...(authorization && { headers: { authorization } }),
      })
    ).status;
  for (const right of [fake.token, `Bearer ${fake.token}`]) expect(await statusOf(right)).toBe(200);
  const { token } = fake;
  for (const wrong of [undefined, 'ak_wrong', 'Bearer', `Basic ${token}`, `${token} ${token}`]) {
    expect(await statusOf(wrong), wrong).toBe(401);
  }
  for (const path of ['/servers', '/user_data', '/ssh_keys', '/events']) {
    const asked = await ask('GET', `${path}?stats[total]=count`, { token: fake.otherToken });
    expect([path, asked.meta.stats?.total.count]).toEqual([path, 0]);
  }
  expect((await ask('GET', '/projects', { token: fake.otherToken })).list).toHaveLength(1);
});

/** How many of so many requests pass. */
const passing = async (count: number, send: () => Promise<Reply>) => {
  const replies = [];
  for (let n = 0; n < count; n++) replies.push(await send());
  return replies.filter(({ status }) => status !== 429).length;
};

test('lets a key read 60 times and write 20 times within a minute, apart from each other', async () => {
  const { fake, ask, act } = await startLatitude();
  const read = () => ask('GET', '/projects');
  const write = () => act('sv_none', 'reboot');
  expect(await passing(61, read)).toBe(60);
  await fake.advance(30 * SECOND);
  expect(await passing(21, write)).toBe(20);
  const [refused] = (await read()).errors;
  expect(refused).toMatchObject({ code: 'RATE_LIMIT_EXCEEDED', meta: { retry_after: 30 } });
  expect((await ask('GET', '/projects', { token: fake.otherToken })).status).toBe(200);
  await fake.advance(30 * SECOND);
  expect([(await read()).status, (await write()).status]).toEqual([200, 429]);
  await fake.advance(30 * SECOND);
  expect((await write()).status).toBe(404);
});

test('takes and gives back stock by plan and site, and heeds the limit of a team', async () => {
  const stock = { [PLACE.plan]: { ASH: 1, SAO: 5 } };
  const { fake, ask, create } = await startLatitude({ stock, serversMax: 2 });
  const level = async () => {
    const { list } = await ask('GET', `/plans?filter[slug]=${PLACE.plan}`);
    const { regions } = list[0]!.attributes as { regions: { name: string }[] };
    return regions.find(({ name }) => name === 'United States');
  };
  const codeOf = async (more: object) => (await create('b', more)).errors[0]?.code;
  expect(await level()).toMatchObject({ stock_level: 'low', locations: { in_stock: ['ASH'] } });
  const { id } = (await create('a')).data;
  expect(await level()).toMatchObject({ stock_level: 'unavailable', locations: { in_stock: [] } });
  expect([await codeOf({}), await codeOf({ plan: 'c2-small-x86' })]).toEqual([
    ...['out_of_stock', 'out_of_stock'],
  ]);
  expect([await codeOf({ site: 'SAO' }), await codeOf({ site: 'SAO' })]).toEqual([
    ...[undefined, 'limit_reached'],
  ]);
  await ask('DELETE', `/servers/${id}`);
  expect(await codeOf({})).toBeUndefined();
  fake.setStock(PLACE.plan, 'ASH', 9);
  expect(await level()).toMatchObject({ stock_level: 'medium' });
  expect(() => fake.setStock('none', 'ASH', 1)).toThrow(/no plan/);
});

testRows([
  ['/servers?filter[hostname]=SHEP-A', ['shep-a']],
  ['/servers?filter[hostname]=shep', []],
  ['/servers?filter[status]=off', ['shep-b']],
  ['/servers?filter[plan]=c2-small-x86', ['shep-b']],
  ['/servers?filter[region]=ASH', ['shep-a', 'shep-b', 'shep-d']],
  ['/servers?filter[project]=fleet', ['shep-a', 'shep-b', 'shep-c']],
  ['/servers?filter[project]=reserved', ['shep-d']],
  ['/servers?page[size]=3', ['shep-a', 'shep-b', 'shep-c']],
  ['/servers?page[size]=3&page[number]=2', ['shep-d']],
  ['/servers?page[size]=3&page[number]=3', []],
  ['/user_data?filter[project]={project}', ['mark']],
  ['/ssh_keys?filter[project]={project}', ['fleet']],
  ['/projects?filter[slug]=reserved', ['reserved']],
  ['/plans?filter[slug]=c3-small-x86', ['c3-small-x86']],
  ['/events?filter[target_id]={off}&sort=-created_at', ['servers.power_off', 'servers.create']],
])('lists for %s %j', async (path, found) => {
  const { ask, fill } = await listing();
  const shown = (await ask('GET', fill(path))).list.map(({ attributes }) => {
    const { hostname, description, slug, name, action } = attributes;
    return hostname ?? action ?? slug ?? name ?? description;
  });
  expect(shown.length > 0 && path.includes('user_data') ? ['mark'] : shown).toEqual(found);
});

test('has 20 rows on a page, and tells totals to those who ask for them alone', async () => {
  const { fake, ask } = await startLatitude();
  for (let n = 0; n < 25; n += 1)
    fake.addFault({ effect: { type: 'stranger', hostname: `a${n}` } });
  const listed = (query: string) => ask('GET', `/servers${query}`);
  const asked = await listed('?stats[total]=count');
  expect([asked.list.length, asked.meta.stats?.total.count]).toEqual([20, 25]);
  expect([(await listed('')).meta, (await listed('?stats[total]=sum')).meta]).toEqual([{}, {}]);
});

test('shows what was made, changed and asked for', async () => {
  const { ask, create, write, ids } = await furnished();
  const deployed = { ssh_keys: [ids['key']], user_data: ids['ud'], raid: 'raid-1' };
  const { id } = (await create('a', deployed)).data;
  const reserved = (await ask('GET', `/servers/${ids['deploying']}`)).data.attributes;
  expect(reserved['plan']).toMatchObject({ billing: 'yearly' });
  const config = (await ask('GET', `/servers/${id}/deploy_config`)).data.attributes;
  expect(config).toMatchObject({
    ...{ hostname: 'a', ...deployed, operating_system: PLACE.operating_system },
  });
  const content = Buffer.from('#cloud-config\n# new\n').toString('base64');
  const body = write('user_data', { content }, ids['ud']);
  const changed = await ask('PATCH', `/user_data/${ids['ud']}`, { body });
  expect(changed.data.attributes['decoded_content']).toBe('#cloud-config\n# new\n');
  const change = { hostname: 'b', billing: 'monthly', project: ids['reserved'] };
  await ask('PATCH', `/servers/${ids['on']}`, { body: write('servers', change, ids['on']) });
  const shown = (await ask('GET', `/servers/${ids['on']}`)).data.attributes;
  expect(shown).toMatchObject({
    ...{ hostname: 'b', plan: { billing: 'monthly' }, project: { id: ids['reserved'] } },
  });
});

test('tells in its journal what was asked, and neither keys nor what user data say', async () => {
  const { fake, ask, record, write } = await startLatitude();
  const { id } = (await record('mark', '#cloud-config\n# secret\n')).data;
  const content = Buffer.from('#cloud-config\n# other\n').toString('base64');
  await ask('PATCH', `/user_data/${id}`, { body: write('user_data', { content }, id) });
  await ask('POST', '/user_data', { body: '{"data": {"attributes": {"content": "c2VjcmV0"' });
  const journal = JSON.stringify(fake.requests());
  expect(fake.requests()).toMatchObject([
    { method: 'POST', route: '/user_data', status: 201, executed: true },
    { method: 'PATCH', route: '/user_data/{id}', status: 200 },
    { method: 'POST', status: 400, executed: false },
  ]);
  for (const secret of [fake.token, content, 'secret', 'c2VjcmV0', 'Bearer']) {
    expect(journal).not.toContain(secret);
  }
  expect(journal).toContain('"content":"***"');
});

test('forgets a request to delete a server when it is taken back, and deletes once', async () => {
  const { fake, ask, running, server } = await startLatitude();
  const [kept, gone] = [await running('a'), await running('b')];
  const path = `/servers/${kept}/schedule_deletion`;
  await ask('POST', path);
  await ask('POST', `/servers/${gone}/schedule_deletion`);
  expect((await ask('DELETE', path)).status).toBe(204);
  expect((await server(kept))['scheduled_deletion_at']).toBeNull();
  await ask('DELETE', `/servers/${gone}`);
  await fake.advance(120 * MINUTE);
  expect(fake.servers().map(({ id }) => id)).toEqual([kept]);
  expect(fake.stock()[PLACE.plan]).toMatchObject({ ASH: 19 });
  const destroyed = `/events?filter[target_id]=${gone}&filter[action]=servers.destroy`;
  expect((await ask('GET', destroyed)).list).toHaveLength(1);
});
