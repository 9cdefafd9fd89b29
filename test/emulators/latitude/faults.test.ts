import { expect, test } from 'vitest';
import { testRows } from '../../support/rows.ts';
import { type Latitude, MINUTE, SECOND, startLatitude } from './harness.ts';

const HALF_HOUR = 30 * MINUTE;
/**
 * What each fault does, and that it is over with its rule. Of those that are missing the tests of the driver
 * show what they do, and `every-emulator.test.ts`; 22 and 23 are shown on machines.
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
  'fault 29: totals missing': async ({ fault, listed }) => {
    fault({ type: 'statsMissing' }, { times: 1 });
    expect((await listed()).meta).toEqual({});
    expect((await listed()).meta).toEqual({ stats: { total: { count: 0 } } });
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
