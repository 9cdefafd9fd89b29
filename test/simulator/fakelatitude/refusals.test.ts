import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createUserKeyLine } from './key-line.ts';
import { type Latitude, MINUTE, PLACE, type Reply, SECOND, startLatitude } from './harness.ts';

const pointers = ({ errors }: Reply) => errors.map(({ source }) => source?.pointer);

test('without a key, or with another one, nothing is told', async () => {
  const { ask } = await startLatitude();
  for (const token of [null, 'ak_wrong', '']) {
    expect((await ask('GET', '/servers', { token })).status).toBe(401);
  }
  const basic = { authorization: 'Basic abc' };
  expect((await ask('GET', '/servers', { token: null, headers: basic })).status).toBe(401);
});

test('takes the bare key, as the official SDKs send it', async () => {
  const { fake, ask } = await startLatitude();
  const bare = (authorization: string) => ({ token: null, headers: { authorization } });
  expect((await ask('GET', '/servers', bare(fake.token))).status).toBe(200);
  for (const wrong of [
    'ak_wrong',
    'Bearer',
    `Basic ${fake.token}`,
    `${fake.token} ${fake.token}`,
  ]) {
    expect((await ask('GET', '/servers', bare(wrong))).status, wrong).toBe(401);
  }
});

test('a team sees and touches only what is its own', async () => {
  const { fake, ask, create, record, act, reinstall, post } = await startLatitude();
  const { id } = (await create('a')).data;
  const ud = (await record('mark')).data.id;
  const token = fake.otherToken;
  const foreign = { token };
  for (const path of [`/servers/${id}`, `/servers/${id}/deploy_config`, `/user_data/${ud}`]) {
    expect((await ask('GET', path, foreign)).status).toBe(404);
    expect((await ask('GET', path)).status).toBe(200);
  }
  for (const path of ['/servers', '/user_data', '/ssh_keys', '/events']) {
    expect((await ask('GET', `${path}?stats[total]=count`, foreign)).meta.stats?.total.count).toBe(
      0,
    );
  }
  expect((await ask('GET', '/projects', foreign)).list).toHaveLength(1);
  expect((await ask('DELETE', `/servers/${id}`, foreign)).status).toBe(404);
  expect((await ask('DELETE', `/user_data/${ud}`, foreign)).status).toBe(404);
  expect((await act(id, 'reboot', foreign)).status).toBe(404);
  expect((await reinstall(id, {}, foreign)).status).toBe(404);
  expect((await ask('POST', `/servers/${id}/lock`, foreign)).status).toBe(404);
  expect(pointers(await create('b', {}, foreign))).toEqual(['/data/attributes/project']);
  const own = { project: fake.teams()[1]!.projects[0]!.id };
  const borrowed = await create('b', { ...own, user_data: ud }, foreign);
  expect(pointers(borrowed)).toEqual(['/data/attributes/user_data']);
  const attributes = { project: fake.project, description: 'x', content: 'eA==' };
  expect((await post('/user_data', 'user_data', attributes, foreign)).status).toBe(422);
});

test('what a create lacks is named, all of it at once', async () => {
  const { post } = await startLatitude();
  const refused = await post('/servers', 'servers', { hostname: '' });
  expect(refused.status).toBe(422);
  expect(pointers(refused)).toEqual(
    ['project', 'plan', 'site', 'operating_system', 'hostname'].map(
      (name) => `/data/attributes/${name}`,
    ),
  );
  expect(refused.errors.every(({ detail }) => detail === 'must be filled')).toBe(true);
});

const REFUSED: readonly (readonly [what: string, attributes: object, name: string])[] = [
  ['an unknown plan', { plan: 'c9-x' }, 'plan'],
  ['an unknown site', { site: 'OSLO' }, 'site'],
  ['a site in the wrong case', { site: 'ash' }, 'site'],
  ['an unknown system', { operating_system: 'minix' }, 'operating_system'],
  ['an unknown project', { project: 'proj_none' }, 'project'],
  ['unknown user data', { user_data: 'ud_none' }, 'user_data'],
  ['an unknown key', { ssh_keys: ['ssh_none'] }, 'ssh_keys'],
  ['keys that are no list', { ssh_keys: 'ssh_none' }, 'ssh_keys'],
  ['a number for a name', { hostname: 7 }, 'hostname'],
  ['an underscore', { hostname: 'a_b' }, 'hostname'],
  ['a dash at the end', { hostname: 'a-' }, 'hostname'],
  ['a name of 33 characters', { hostname: 'a'.repeat(33) }, 'hostname'],
  ['an unknown RAID', { raid: 'raid-5' }, 'raid'],
  ['billing of reserved projects', { billing: 'yearly' }, 'billing'],
  ['an unknown billing', { billing: 'daily' }, 'billing'],
  ['tags', { tags: [] }, 'tags'],
  ['keys where there is no SSH', { operating_system: 'ipxe', ssh_keys: ['x'] }, 'ssh_keys'],
  ['RAID without it', { operating_system: 'flatcar', raid: 'raid-1' }, 'raid'],
];

test('a create that cannot be is refused, and the attribute is named', async () => {
  const { fake, create } = await startLatitude();
  for (const [what, attributes, name] of REFUSED) {
    const refused = await create('shep-ash-1', attributes);
    expect(refused.status, what).toBe(422);
    expect(pointers(refused), what).toContain(`/data/attributes/${name}`);
  }
  expect(fake.servers()).toEqual([]);
});

test('host names that may be', async () => {
  const { create } = await startLatitude();
  for (const hostname of ['a', '1', 'a'.repeat(32), 'Shep-ASH-1', 'a.b']) {
    expect((await create(hostname)).data.attributes['hostname']).toBe(hostname);
  }
});

test('a reserved project wants yearly billing', async () => {
  const { fake, create } = await startLatitude();
  const project = fake.teams()[0]!.projects.find((one) => one.provisioningType === 'reserved')!.id;
  expect(pointers(await create('a', { project, billing: 'hourly' }))).toEqual([
    '/data/attributes/billing',
  ]);
  expect((await create('a', { project })).data.attributes['plan']).toMatchObject({
    billing: 'yearly',
  });
});

const MALFORMED: readonly (readonly [
  what: string,
  body: unknown,
  status: number,
  pointer: string,
])[] = [
  ['no body', undefined, 400, '/data'],
  ['no data', { type: 'servers' }, 400, '/data'],
  ['data that is no object', { data: [] }, 400, '/data'],
  ['no type', { data: { attributes: {} } }, 400, '/data/type'],
  ['another type', { data: { type: 'server', attributes: {} } }, 409, '/data/type'],
  [
    'attributes that are none',
    { data: { type: 'servers', attributes: 'x' } },
    400,
    '/data/attributes',
  ],
];

test('what is no document of the type is refused, and its place is named', async () => {
  const { ask } = await startLatitude();
  for (const [what, body, status, pointer] of MALFORMED) {
    const refused = await ask('POST', '/servers', { body });
    expect([what, refused.status, pointers(refused)]).toEqual([what, status, [pointer]]);
  }
});

test('what is not JSON, of another type, for another path or method is refused', async () => {
  const { ask } = await startLatitude();
  const statuses = [
    await ask('POST', '/servers', { body: '{' }),
    await ask('POST', '/servers', { body: '{}', headers: { 'content-type': 'text/plain' } }),
    await ask('GET', '/nowhere'),
    await ask('PUT', '/servers', { body: {} }),
    await ask('GET', '/servers/not-an-id'),
    await ask('GET', '/servers/sv_none'),
  ].map(({ status }) => status);
  expect(statuses).toEqual([400, 415, 404, 405, 404, 404]);
});

test('a list with a parameter that cannot be is refused', async () => {
  const { ask } = await startLatitude();
  for (const query of [
    'filter[colour]=red',
    'page[size]=0',
    'page[size]=x',
    'page[number]=0',
    'page[size]=101',
    'limit=5',
  ]) {
    const refused = await ask('GET', `/servers?${query}`);
    expect([refused.status, refused.errors[0]?.source?.parameter]).toEqual([
      400,
      query.split('=')[0],
    ]);
  }
});

test('a change must name its resource', async () => {
  const { ask, create, write, record } = await startLatitude();
  const { id } = (await create('a')).data;
  for (const body of [write('servers', {}), write('servers', {}, 'sv_other')]) {
    expect((await ask('PATCH', `/servers/${id}`, { body })).status).toBe(409);
  }
  const ud = (await record('mark')).data.id;
  const other = { body: write('user_data', {}, 'ud_other') };
  expect((await ask('PATCH', `/user_data/${ud}`, other)).status).toBe(409);
});

const BAD_USER_DATA: readonly (readonly [attributes: object, name: string])[] = [
  [{ description: 'x', content: 'not base64!' }, 'content'],
  [{ description: 'x' }, 'content'],
  [{ content: 'eA==' }, 'description'],
  [{ description: 'x'.repeat(256), content: 'eA==' }, 'description'],
  [{ description: 'x', content: 'eA==', name: 'y' }, 'name'],
];

test('user data that cannot be are refused', async () => {
  const { fake, post } = await startLatitude();
  for (const [attributes, name] of BAD_USER_DATA) {
    const refused = await post('/user_data', 'user_data', { project: fake.project, ...attributes });
    expect(pointers(refused)).toEqual([`/data/attributes/${name}`]);
  }
});

test('a key that is none, and one that is there already, are refused', async () => {
  const { fake, post } = await startLatitude();
  const make = (public_key: string) =>
    post('/ssh_keys', 'ssh_keys', { project: fake.project, name: 'a', public_key });
  const line = createUserKeyLine();
  expect(pointers(await make('ssh-ed25519 AAAA'))).toEqual(['/data/attributes/public_key']);
  expect((await make(line)).status).toBe(201);
  expect(pointers(await make(`${line} again`))).toEqual(['/data/attributes/public_key']);
  fake.setKnobs({ duplicateKeys: 'allowed' });
  expect((await make(line)).status).toBe(201);
});

const stateRefusal = async (reply: Promise<Reply>) => {
  const { status, errors } = await reply;
  return status === 422 && /state/.test(errors[0]?.detail ?? '');
};

test('actions are refused during an installation, and most of them while off', async () => {
  const { fake, create, act, reinstall, running } = await startLatitude();
  const { id } = (await create('a')).data;
  const refuseAll = async () => {
    for (const action of ['power_on', 'power_off', 'reboot']) {
      expect(await stateRefusal(act(id, action))).toBe(true);
    }
    expect(await stateRefusal(reinstall(id))).toBe(true);
  };
  await refuseAll();
  await fake.advance(5 * SECOND);
  expect(fake.servers()[0]?.status).toBe('on');
  await refuseAll();
  await fake.advance(20 * SECOND);
  const other = await running('b');
  await reinstall(other);
  expect(await stateRefusal(act(other, 'reboot'))).toBe(true);
  await fake.advance(12 * MINUTE);
  await act(other, 'power_off');
  await fake.advance(5 * SECOND);
  expect(await stateRefusal(act(other, 'reboot'))).toBe(true);
  expect(await stateRefusal(act(other, 'power_off'))).toBe(true);
  expect((await act(other, 'power_on')).status).toBe(201);
  expect(pointers(await act(other, 'explode'))).toEqual(['/data/attributes/action']);
  expect(pointers(await act(other, ''))).toEqual(['/data/attributes/action']);
});

test('a reinstall is checked as a create is', async () => {
  const { running, reinstall, fake } = await startLatitude();
  const id = await running();
  for (const [attributes, name] of [
    [{ operating_system: 'minix' }, 'operating_system'],
    [{ user_data: 'ud_none' }, 'user_data'],
    [{ hostname: 'a_b' }, 'hostname'],
    [{ raid: 'raid-5' }, 'raid'],
    [{ plan: PLACE.plan }, 'plan'],
  ] as const) {
    expect(pointers(await reinstall(id, attributes))).toEqual([`/data/attributes/${name}`]);
  }
  expect(fake.servers()[0]?.status).toBe('on');
});

/** How many of so many requests pass. */
const passing = async (count: number, send: () => Promise<Reply>) => {
  const replies = [];
  for (let n = 0; n < count; n++) replies.push(await send());
  return replies.filter(({ status }) => status !== 429).length;
};

test('a key may read 60 times and write 20 times within a minute, apart from each other', async () => {
  const { fake, ask, act }: Latitude = await startLatitude();
  const read = () => ask('GET', '/projects');
  const write = () => act('sv_none', 'reboot');
  expect(await passing(61, read)).toBe(60);
  await fake.advance(30 * SECOND);
  expect(await passing(21, write)).toBe(20);
  const refused = await read();
  expect([refused.status, refused.errors[0]?.code]).toEqual([429, 'RATE_LIMIT_EXCEEDED']);
  expect(refused.errors[0]?.meta.retry_after).toBe(30);
  expect((await ask('GET', '/projects', { token: fake.otherToken })).status).toBe(200);
  await fake.advance(30 * SECOND);
  expect((await read()).status).toBe(200);
  expect((await write()).status).toBe(429);
  await fake.advance(30 * SECOND);
  expect((await write()).status).toBe(404);
});

test('stock is taken and given back, by plan and site, and a team has its limit', async () => {
  const stock = { [PLACE.plan]: { ASH: 1, SAO: 5 } };
  const { fake, ask, create } = await startLatitude({ stock, serversMax: 2 });
  const level = async () => {
    const { list } = await ask('GET', `/plans?filter[slug]=${PLACE.plan}`);
    const { regions } = list[0]!.attributes as { regions: { name: string }[] };
    return regions.find(({ name }) => name === 'United States');
  };
  expect(await level()).toMatchObject({ stock_level: 'low', locations: { in_stock: ['ASH'] } });
  const { id } = (await create('a')).data;
  expect(await level()).toMatchObject({ stock_level: 'unavailable', locations: { in_stock: [] } });
  expect((await create('b')).errors[0]?.code).toBe('out_of_stock');
  expect((await create('b', { plan: 'c2-small-x86' })).errors[0]?.code).toBe('out_of_stock');
  expect((await create('b', { site: 'SAO' })).status).toBe(201);
  expect((await create('c', { site: 'SAO' })).errors[0]?.code).toBe('limit_reached');
  await ask('DELETE', `/servers/${id}`);
  expect((await create('c')).status).toBe(201);
  fake.setStock(PLACE.plan, 'ASH', 9);
  expect(await level()).toMatchObject({ stock_level: 'medium' });
  expect(() => fake.setStock('none', 'ASH', 1)).toThrow(/no plan/);
});

const TYPES = ['servers', 'actions', 'reinstalls', 'user_data', 'ssh_keys'] as const;
const ROUTES = [
  ['POST', '/servers'],
  ['PATCH', '/servers/{sv}'],
  ['POST', '/servers/{sv}/actions'],
  ['POST', '/servers/{sv}/reinstall'],
  ['POST', '/user_data'],
  ['PATCH', '/user_data/{ud}'],
  ['POST', '/ssh_keys'],
] as const;

/** What a client could send that was written by somebody else: near the right thing, or far from it. */
const body = fc.oneof(
  fc.jsonValue(),
  fc.record({ data: fc.jsonValue() }),
  fc.record({
    data: fc.record(
      {
        type: fc.constantFrom(...TYPES),
        id: fc.constantFrom('sv_none', 'ud_none'),
        attributes: fc.oneof(
          fc.jsonValue(),
          fc.dictionary(
            fc.constantFrom(...Object.keys(PLACE), 'project', 'hostname', 'user_data', 'ssh_keys'),
            fc.jsonValue(),
          ),
          fc.dictionary(
            fc.constantFrom('action', 'raid', 'content', 'description', 'public_key', 'name'),
            fc.jsonValue(),
          ),
        ),
      },
      { requiredKeys: ['type'] },
    ),
  }),
);

test('whatever is sent is done or refused by a document, and never breaks the service', async () => {
  const { fake, ask, running, record } = await startLatitude({
    limits: { reads: 10_000, writes: 10_000 },
  });
  const sv = await running();
  const ud = (await record('mark')).data.id;
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...ROUTES), body, async ([method, route], sent) => {
      const path = route.replace('{sv}', sv).replace('{ud}', ud);
      const { status } = await ask(method, path, { body: JSON.stringify(sent) });
      expect(status).toBeLessThan(500);
    }),
    { numRuns: 80 },
  );
  expect(fake.servers()[0]).toMatchObject({ id: sv, hostname: 'shep-ash-1' });
});
