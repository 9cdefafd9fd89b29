import { expect, test } from 'vitest';
import { testRows } from '../../support/rows.ts';
import { type Latitude, MINUTE, PLACE, SECOND, startLatitude } from './harness.ts';

const HALF_HOUR = 30 * MINUTE;
/** Names of all servers, whoever may see them. */
const names = ({ fake }: Latitude) => fake.servers().map(({ hostname }) => hostname);
/** Names that the list shows, page by page. */
async function pages({ listed }: Latitude, size: number, count: number) {
  const found = [];
  for (let page = 1; page <= count; page++) {
    const { list, meta } = await listed(`&page[size]=${size}&page[number]=${page}`);
    const hostnames = list.map(({ attributes }) => attributes['hostname']);
    found.push({ hostnames, total: meta.stats?.total.count });
  }
  return found;
}
const FOUR = ['a', 'b', 'c', 'd'];
async function createFour({ create }: Latitude) {
  for (const hostname of FOUR) await create(hostname);
}

/**
 * What each fault does, and that it is over with its rule. All emulators share those that are missing; 22
 * and 23 are shown on machines.
 */
const FAULTS: Readonly<Record<string, (latitude: Latitude) => Promise<void>>> = {
  'fault 7: 429 that says for how long, in the body or the header, or does not': async ({
    fault,
    create,
    listed,
  }) => {
    fault({ type: 'rateLimit', retryAfterS: 60 }, { match: { method: 'POST' }, times: 1 });
    const told = await create('a');
    expect([told.status, told.errors[0]?.code, told.errors[0]?.meta.retry_after]).toEqual([
      429,
      'RATE_LIMIT_EXCEEDED',
      60,
    ]);
    expect((await listed()).status).toBe(200);
    fault({ type: 'rateLimit', retryAfterS: 30, header: true }, { times: 1 });
    const headed = await create('a');
    expect([headed.headers.get('retry-after'), headed.errors[0]?.meta]).toEqual(['30', {}]);
    fault({ type: 'rateLimit', retryAfterS: null }, { times: 1 });
    const untold = await create('a');
    expect([untold.headers.get('retry-after'), untold.errors[0]?.meta]).toEqual([null, {}]);
    expect((await create('a')).status).toBe(201);
  },
  'fault 8: stock runs out between look and POST': async ({ fake, ask, fault, create }) => {
    fault({ type: 'stockOut' }, { times: 1 });
    const { list } = await ask('GET', `/plans?filter[slug]=${PLACE.plan}`);
    expect(JSON.stringify(list[0])).toContain('"in_stock":["ASH"');
    const refused = await create('a');
    expect([refused.status, refused.errors[0]?.detail]).toEqual([
      422,
      expect.stringMatching(/stock/),
    ]);
    expect((await create('a')).status).toBe(201);
    expect(fake.stock()[PLACE.plan]![PLACE.site]).toBe(19);
  },
  'fault 9: quota': async ({ fault, create }) => {
    fault({ type: 'quota' }, { times: 1 });
    const refused = await create('a');
    expect([refused.status, refused.errors[0]?.detail]).toEqual([
      422,
      expect.stringMatching(/limit/),
    ]);
    expect((await create('a')).status).toBe(201);
  },
  'fault 10: lists lag': async ({ fake, fault, create, record, listed, ask, server }) => {
    fault({ type: 'listLag', ms: 30 * SECOND });
    const { id } = (await create('a')).data;
    await record('mark');
    await fake.advance(30 * SECOND - 1);
    expect((await listed()).list).toEqual([]);
    expect((await ask('GET', `/user_data?filter[project]=${fake.project}`)).list).toEqual([]);
    expect((await server(id))['status']).toBe('deploying');
    await fake.advance(1);
    expect((await listed()).list[0]?.attributes['status']).toBe('starting_deploy');
    await fake.advance(30 * SECOND);
    await ask('DELETE', `/servers/${id}`);
    expect((await listed()).list).toHaveLength(1);
    await fake.advance(30 * SECOND);
    expect((await listed()).list).toEqual([]);
  },
  'fault 11: pages shuffled, doubled, omitted, with a total that drifts': async (latitude) => {
    await createFour(latitude);
    const spoiled = async (does: 'shuffled' | 'doubled' | 'omitted' | 'drifting') => {
      const { id } = latitude.fault({ type: 'pages', does });
      const found = await pages(latitude, 2, 2);
      latitude.fake.removeFault(id);
      return { found, shown: found.flatMap(({ hostnames }) => hostnames) };
    };
    const doubled = await spoiled('doubled');
    expect(doubled.shown).toEqual(['a', 'a', 'b', 'c']);
    const omitted = await spoiled('omitted');
    expect(omitted.found).toEqual([
      { hostnames: ['a'], total: 4 },
      { hostnames: ['c'], total: 4 },
    ]);
    const [first, second] = (await spoiled('drifting')).found;
    expect(first!.total).not.toBe(second!.total);
    const orders = [];
    for (let n = 0; n < 5; n++) orders.push((await spoiled('shuffled')).shown.join(''));
    expect(new Set(orders).size).toBeGreaterThan(1);
    expect((await pages(latitude, 2, 2)).flatMap(({ hostnames }) => hostnames)).toEqual(FOUR);
  },
  'fault 12: the filter of host names takes prefixes': async ({ fault, create, listed }) => {
    await create('shep-1');
    await create('shep-10');
    const found = async () =>
      (await listed('&filter[hostname]=SHEP-1')).list.map((one) => one.attributes['hostname']);
    expect(await found()).toEqual(['shep-1']);
    fault({ type: 'hostnameFilter' }, { times: 1 });
    expect(await found()).toEqual(['shep-1', 'shep-10']);
    expect(await found()).toEqual(['shep-1']);
  },
  'fault 21: description or content cut': async ({ fault, record, ask, write }) => {
    fault({ type: 'cut', field: 'content', length: 8 }, { times: 1 });
    const { id, attributes } = (await record('shepherd set name witness')).data;
    expect(attributes).toMatchObject({ description: 'shepherd set name witness' });
    expect(attributes['content']).toHaveLength(8);
    fault({ type: 'cut', field: 'description', length: 10 }, { times: 1 });
    const body = write('user_data', { description: 'shepherd set other' }, id);
    const changed = await ask('PATCH', `/user_data/${id}`, { body });
    expect(changed.data.attributes['description']).toBe('shepherd s');
  },
  'fault 26: token revoked, until there is another': async ({ fake, fault, listed, ask }) => {
    const { id } = fault({ type: 'tokenRevoked' });
    expect((await listed()).status).toBe(401);
    const token = fake.issueToken();
    expect((await ask('GET', '/servers', { token })).status).toBe(200);
    expect((await listed()).status).toBe(401);
    fake.removeFault(id);
    expect((await listed()).status).toBe(200);
    fault({ type: 'tokenRevoked', code: 403 }, { match: { method: 'POST' } });
    expect((await listed()).status).toBe(200);
    expect((await ask('POST', '/servers')).status).toBe(403);
  },
  'fault 28: a stranger takes our name': async (latitude) => {
    latitude.fault({ type: 'stranger', hostname: 'shep-ash-9' });
    expect(latitude.fake.servers()).toMatchObject([
      { hostname: 'shep-ash-9', status: 'on', userData: null },
    ]);
    latitude.fault({ type: 'stranger' }, { times: 1 });
    const { id } = (await latitude.create('shep-ash-1')).data;
    expect(names(latitude)).toEqual(['shep-ash-9', 'shep-ash-1', 'shep-ash-1']);
    expect(latitude.fake.servers()[2]?.id).toBe(id);
    latitude.fake.setKnobs({ duplicateNames: 'refused' });
    const refused = await latitude.create('shep-ash-1');
    expect(refused.errors[0]?.source?.pointer).toBe('/data/attributes/hostname');
  },
  'fault 29: totals missing': async ({ fault, listed }) => {
    fault({ type: 'statsMissing' }, { times: 1 });
    expect((await listed()).meta).toEqual({});
    expect((await listed()).meta).toEqual({ stats: { total: { count: 0 } } });
  },
  'fault 30: page size refused': async ({ fault, listed }) => {
    fault({ type: 'pageSizeRefused', above: 25, code: 422 });
    const refused = await listed('&page[size]=26');
    expect([refused.status, refused.errors[0]?.source]).toEqual([422, { parameter: 'page[size]' }]);
    expect((await listed('&page[size]=25')).status).toBe(200);
  },
  'fault 13: stale on': async ({ fake, fault, running, reinstall, statusOf, listed }) => {
    const id = await running();
    fault({ type: 'staleOn', ms: 15 * SECOND }, { times: 1 });
    await reinstall(id);
    await fake.advance(15 * SECOND - 1);
    expect(await statusOf(id)).toBe('on');
    expect((await listed()).list[0]?.attributes['status']).toBe('on');
    await fake.advance(1);
    expect(await statusOf(id)).toBe('disk_erasing');
  },
  'fault 14: deployment stuck': async ({ fake, fault, create, statusOf }) => {
    fault({ type: 'deployStuck' }, { match: { hostname: 'a' } });
    const { id } = (await create('a')).data;
    const { id: other } = (await create('b')).data;
    await fake.advance(24 * 60 * MINUTE);
    expect([await statusOf(id), await statusOf(other)]).toEqual(['deploying', 'on']);
  },
  'fault 15: deployment fails after half an hour, and a reinstall mends it': async ({
    fake,
    fault,
    create,
    reinstall,
    statusOf,
  }) => {
    fault({ type: 'deployFails' }, { times: 1 });
    const { id } = (await create('a')).data;
    await fake.advance(HALF_HOUR - 1);
    expect(await statusOf(id)).toBe('deploying');
    await fake.advance(1);
    expect(await statusOf(id)).toBe('failed_deployment');
    expect((await reinstall(id)).status).toBe(201);
    await fake.advance(11 * MINUTE);
    expect(await statusOf(id)).toBe('on');
  },
  'fault 16: erasing fails': async ({ fake, fault, running, reinstall, statusOf }) => {
    const id = await running();
    fault({ type: 'eraseFails' }, { match: { server: id }, times: 1 });
    await reinstall(id);
    await fake.advance(MINUTE);
    expect(await statusOf(id)).toBe('failed_disk_erasing');
    await fake.advance(HALF_HOUR);
    expect(await statusOf(id)).toBe('failed_disk_erasing');
  },
  'fault 17: an unknown status': async ({ fake, fault, running, ask, listed }) => {
    const id = await running();
    fault({ type: 'statusText', shows: 'migrating' }, { match: { server: id } });
    const shown = await ask('GET', `/servers/${id}`, { unjudged: true });
    expect(shown.data.attributes['status']).toBe('migrating');
    fake.clearFaults();
    expect((await listed()).list[0]?.attributes['status']).toBe('on');
  },
  'fault 18: an action is accepted and not done': async ({
    fake,
    fault,
    running,
    act,
    statusOf,
  }) => {
    const id = await running();
    fault({ type: 'actionIgnored' }, { times: 1 });
    expect((await act(id, 'power_off')).status).toBe(201);
    await fake.advance(10 * MINUTE);
    expect(await statusOf(id)).toBe('on');
    await act(id, 'power_off');
    await fake.advance(5 * SECOND);
    expect(await statusOf(id)).toBe('off');
  },
  'fault 19: IPMI unavailable: actions are refused': async ({ fault, running, act, server }) => {
    const id = await running();
    fault({ type: 'ipmiUnavailable' }, { match: { hostname: 'shep-ash-1' } });
    expect((await server(id))['ipmi_status']).toBe('Unavailable');
    expect((await act(id, 'reboot')).status).toBe(422);
  },
  'fault 20: locked by somebody': async ({
    fake,
    fault,
    running,
    act,
    ask,
    reinstall,
    write,
    server,
  }) => {
    const id = await running();
    fault({ type: 'locked' }, { match: { server: id } });
    expect((await server(id))['locked']).toBe(true);
    const body = write('servers', { hostname: 'b' }, id);
    const refused = [
      await act(id, 'reboot'),
      await reinstall(id),
      await ask('DELETE', `/servers/${id}`),
      await ask('PATCH', `/servers/${id}`, { body }),
      await ask('POST', `/servers/${id}/schedule_deletion`),
    ];
    expect(refused.map(({ status }) => status)).toEqual([422, 422, 422, 422, 422]);
    expect(refused[0]?.errors[0]?.detail).toMatch(/locked/);
    fake.setKnobs({ lockText: { status: 403, code: 'x', title: 'y', detail: 'is locked' } });
    expect((await act(id, 'reboot')).status).toBe(403);
    await ask('POST', `/servers/${id}/unlock`);
    expect((await act(id, 'reboot')).status).toBe(201);
  },
  'fault 24: the address changes': async ({ fault, running, server }) => {
    const id = await running();
    const { primary_ipv4: before } = await server(id);
    fault({ type: 'addressChanges', to: '203.0.113.7' }, { match: { server: id } });
    expect((await server(id))['primary_ipv4']).toBe('203.0.113.7');
    fault({ type: 'addressChanges' });
    expect([before, '203.0.113.7']).not.toContain((await server(id))['primary_ipv4']);
  },
  'fault 25: scheduled for deletion by the vendor': async ({ fake, fault, running, server }) => {
    const id = await running();
    fault({ type: 'scheduledDeletion', afterMs: 60 * MINUTE }, { match: { server: id } });
    expect((await server(id))['scheduled_deletion_at']).toBe('2026-01-01T01:11:00+00:00');
    await fake.advance(60 * MINUTE - 1);
    expect(fake.servers()).toHaveLength(1);
    await fake.advance(1);
    expect(fake.servers()).toEqual([]);
  },
  'fault 27: moved to another project': async ({ fake, fault, running, listed, server }) => {
    const id = await running();
    const [, reserved] = fake.teams()[0]!.projects;
    fault({ type: 'movedProject', to: reserved!.id }, { match: { server: id } });
    expect((await listed()).list).toEqual([]);
    expect((await server(id))['project']).toMatchObject({ id: reserved!.id });
  },
};

testRows(Object.entries(FAULTS))('shows %s', async (_name, proof) => {
  await proof(await startLatitude());
});

test('a rule strikes the method, the route, the page, the project and the server that it names', async () => {
  const { fake, ask, create, fault, listed, record } = await startLatitude();
  const { id } = (await create('a')).data;
  const status = { type: 'status', code: 500 } as const;
  const other = fake.teams()[0]!.projects[1]!.id;
  fault(status, { match: { route: '/servers/{server}', method: 'get', server: id } });
  fault(status, { match: { page: 2 } });
  fault(status, { match: { project: other } });
  const statuses = [
    await ask('GET', `/servers/${id}`),
    await ask('GET', `/servers/${id}/deploy_config`),
    await listed(),
    await listed('&page[number]=2'),
    await ask('GET', `/servers?filter[project]=${other}`),
    await create('b'),
    await record('c'),
  ].map((one) => one.status);
  expect(statuses).toEqual([500, 200, 200, 500, 500, 201, 201]);
  expect(fake.requests().filter(({ faults }) => faults.length > 0)).toHaveLength(3);
});

testRows([
  [{ match: { project: 'proj_x' }, effect: { type: 'quota' } }, /no project/],
  [{ match: { server: 'x' }, effect: { type: 'quota' } }, /server/],
  [{ effect: { type: 'movedProject', to: 'proj_x' } }, /no project/],
  [{ match: { method: 'POST' }, effect: { type: 'deployStuck' } }, /happens to servers/],
  [{ match: { page: 1 }, effect: { type: 'locked' } }, /happens to servers/],
  [{ match: { method: 'GET' }, effect: { type: 'stranger', hostname: 'a' } }, /happens to servers/],
])('a rule that could never strike is refused: %j', async (rule, message) => {
  const { fake } = await startLatitude();
  expect(() => fake.addFault(rule as never)).toThrow(message);
  expect(fake.faults()).toEqual([]);
});
