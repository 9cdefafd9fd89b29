import { expect, test } from 'vitest';
import { realClock } from '../../../src/simulator/fakequinix/time/clock.ts';
import { MINUTE, PLACE, SECOND, startLatitude } from './harness.ts';
import { testRows } from '../../support/rows.ts';

const HOUR = 60 * MINUTE;

test('servers come in pages, each once, in the order of their creation', async () => {
  const { fake, listed } = await startLatitude();
  const names = Array.from({ length: 25 }, (_, n) => `shep-${n}`);
  for (const hostname of names) fake.addFault({ effect: { type: 'stranger', hostname } });
  const sizes: number[] = [];
  const found: unknown[] = [];
  for (const page of [1, 2, 3, 4]) {
    const { list, meta } = await listed(`&page[size]=10&page[number]=${page}`);
    expect(meta.stats?.total.count).toBe(25);
    sizes.push(list.length);
    found.push(...list.map(({ attributes }) => attributes['hostname']));
  }
  expect(sizes).toEqual([10, 10, 5, 0]);
  expect(found).toEqual(names);
  expect((await listed()).list).toHaveLength(20);
});

test('totals are told to those who ask for them alone', async () => {
  const { ask } = await startLatitude();
  expect((await ask('GET', '/servers')).meta).toEqual({});
  expect((await ask('GET', '/servers?stats[total]=sum')).meta).toEqual({});
  expect((await ask('GET', '/servers?stats[total]=count')).meta.stats?.total.count).toBe(0);
});

const FILTERED: readonly (readonly [filter: string, value: string, found: readonly string[]])[] = [
  ['hostname', 'SHEP-A', ['shep-a']],
  ['hostname', 'shep', []],
  ['status', 'off', ['shep-b']],
  ['plan', 'c2-small-x86', ['shep-b']],
  ['region', 'ASH', ['shep-a', 'shep-b']],
  ['project', 'fleet', ['shep-a', 'shep-b']],
  ['project', 'reserved', []],
];

test('servers are filtered', async () => {
  const { fake, ask, running, act } = await startLatitude();
  await running('shep-a');
  await act(await running('shep-b', { plan: 'c2-small-x86' }), 'power_off');
  await fake.advance(5 * SECOND);
  for (const [filter, value, expected] of FILTERED) {
    const { list } = await ask('GET', `/servers?filter[${filter}]=${value}`);
    const found = list.map(({ attributes }) => attributes['hostname']);
    expect([filter, value, found]).toEqual([filter, value, expected]);
  }
});

testRows([
  ['hourly', HOUR],
  ['monthly', 30 * 24 * HOUR],
] as const)(
  '%s: a deletion that is scheduled comes at the end of the cycle',
  async (billing, ms) => {
    const { fake, ask, running, server } = await startLatitude();
    const id = await running('a', { billing });
    const made = await ask('POST', `/servers/${id}/schedule_deletion`);
    const at = made.data.attributes['scheduled_deletion_at'];
    expect((await server(id))['scheduled_deletion_at']).toBe(at);
    await fake.advance(ms - 11 * MINUTE - 1);
    expect(fake.servers()).toHaveLength(1);
    await fake.advance(1);
    expect(fake.servers()).toEqual([]);
  },
);

test('a server that is deleted before its time is deleted once', async () => {
  const { fake, ask, running } = await startLatitude();
  const id = await running();
  await ask('POST', `/servers/${id}/schedule_deletion`);
  await ask('DELETE', `/servers/${id}`);
  await fake.advance(2 * HOUR);
  expect(fake.stock()[PLACE.plan]).toMatchObject({ ASH: 20 });
  const { list } = await ask(
    'GET',
    `/events?filter[target_id]=${id}&filter[action]=servers.destroy`,
  );
  expect(list).toHaveLength(1);
});

test('a deletion that is scheduled can be taken back', async () => {
  const { fake, ask, running, server } = await startLatitude();
  const id = await running();
  const path = `/servers/${id}/schedule_deletion`;
  expect((await ask('DELETE', path)).status).toBe(404);
  await ask('POST', path);
  expect((await ask('DELETE', path)).status).toBe(204);
  expect((await server(id))['scheduled_deletion_at']).toBeNull();
  await fake.advance(2 * HOUR);
  expect(fake.servers()).toHaveLength(1);
});

test('a reinstall keeps what it is not told, and takes the rest', async () => {
  const { fake, ask, running, reinstall, record, statusOf } = await startLatitude();
  const [first, second] = [(await record('1')).data.id, (await record('2')).data.id];
  const id = await running('a', { user_data: first, raid: 'raid-1' });
  const config = async () => (await ask('GET', `/servers/${id}/deploy_config`)).data.attributes;
  const before = await config();
  expect((await reinstall(id)).status).toBe(201);
  expect(await config()).toEqual(before);
  await fake.advance(MINUTE - 1);
  expect(await statusOf(id)).toBe('disk_erasing');
  await fake.advance(1);
  expect(await statusOf(id)).toBe('deploying');
  await fake.advance(10 * MINUTE);
  const changes = { user_data: second, hostname: 'b', operating_system: 'debian_12_x64' };
  await reinstall(id, { ...changes, raid: 'raid-0' });
  expect(await config()).toMatchObject({ ...changes, raid: 'raid-0' });
  expect(fake.servers()[0]?.hostname).toBe('b');
});

test('a server is renamed, moved and billed otherwise', async () => {
  const { fake, ask, running, write, server } = await startLatitude();
  const id = await running();
  const [, reserved] = fake.teams()[0]!.projects;
  const attributes = { hostname: 'b', billing: 'monthly', project: reserved!.id, tags: [''] };
  const change = (more: object) =>
    ask('PATCH', `/servers/${id}`, { body: write('servers', more, id) });
  expect((await change(attributes)).status).toBe(200);
  expect(await server(id)).toMatchObject({
    ...{ hostname: 'b', plan: { billing: 'monthly' }, project: { id: reserved!.id } },
  });
  expect((await change({ project: 'proj_none' })).status).toBe(404);
  expect((await change({ project: fake.teams()[1]!.projects[0]!.id })).status).toBe(404);
  expect((await change({ tags: ['tag_none'] })).status).toBe(404);
  expect((await change({ hostname: '-' })).status).toBe(422);
});

test('the journal tells what was asked, and neither keys nor what user data say', async () => {
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

test('the same seed makes the same ids, and never the same keys', async () => {
  const one = (await startLatitude({ seed: 7 })).fake;
  const two = (await startLatitude({ seed: 7 })).fake;
  const three = (await startLatitude({ seed: 8 })).fake;
  expect(two.project).toBe(one.project);
  expect(three.project).not.toBe(one.project);
  expect(new Set([one.token, two.token, one.otherToken, two.otherToken]).size).toBe(4);
});

test('in the fast profile a server is deployed within a few seconds of real time', async () => {
  const latitude = await startLatitude({
    clock: realClock,
    profile: 'fast',
    timings: { deployingMs: 60 },
  });
  const { id } = (await latitude.create('a')).data;
  const deployed = async () => latitude.fake.servers()[0]?.status;
  await expect.poll(deployed).toBe('deploying');
  await expect.poll(deployed).toBe('on');
  expect((await latitude.act(id, 'reboot')).status).toBe(201);
  await expect(latitude.fake.advance(1)).rejects.toThrow(/manual/);
});

test('a server is created, deployed, listed and deleted', async () => {
  const latitude = await startLatitude();
  const { fake, ask, create, statusOf, listed } = latitude;
  const made = await create('shep-ash-1', { billing: 'hourly' });
  expect(made.data.attributes).toMatchObject({ hostname: 'shep-ash-1', status: 'starting_deploy' });
  const { id } = made.data;
  const seen: unknown[] = [];
  for (const ms of [4 * SECOND, SECOND, 20 * SECOND, 10 * MINUTE - 1, 1]) {
    await fake.advance(ms);
    seen.push(await statusOf(id));
  }
  expect(seen).toEqual(['starting_deploy', 'on', 'deploying', 'deploying', 'on']);
  const list = await listed();
  expect([list.list.map((one) => one.id), list.meta.stats?.total.count]).toEqual([[id], 1]);
  expect((await ask('DELETE', `/servers/${id}?reason=done`)).status).toBe(204);
  expect((await ask('GET', `/servers/${id}`)).errors).toMatchObject([{ code: 'not_found' }]);
  expect((await ask('DELETE', `/servers/${id}`)).status).toBe(404);
  expect(fake.servers()).toEqual([]);
});

test('user data, keys, projects, plans, systems, events and the deployment are read back', async () => {
  const { fake, ask, post, record, create, write } = await startLatitude();
  const key = await post('/ssh_keys', 'ssh_keys', {
    project: fake.project,
    name: 'fleet',
    public_key:
      'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ9yMGuBbx0WkSXxpGJcRbJvZzYc3C3dYvYdGQd8mRzW fleet',
  });
  const ud = (await record('shepherd set name witness')).data;
  const { id } = (await create('a', { ssh_keys: [key.data.id], user_data: ud.id, raid: 'raid-1' }))
    .data;
  const content = Buffer.from('#cloud-config\n# new\n').toString('base64');
  const changed = await ask('PATCH', `/user_data/${ud.id}`, {
    body: write('user_data', { content }, ud.id),
  });
  expect(changed.data.attributes['decoded_content']).toBe('#cloud-config\n# new\n');
  expect((await ask('GET', `/servers/${id}/deploy_config`)).data.attributes).toMatchObject({
    ...{ hostname: 'a', raid: 'raid-1', user_data: ud.id, ssh_keys: [key.data.id] },
    operating_system: PLACE.operating_system,
  });
  const filter = `filter[project]=${fake.project}`;
  expect((await ask('GET', `/user_data?${filter}`)).list).toHaveLength(1);
  expect((await ask('GET', `/ssh_keys?${filter}`)).list).toHaveLength(1);
  expect((await ask('GET', '/projects?filter[slug]=reserved')).list[0]?.attributes).toMatchObject({
    provisioning_type: 'reserved',
  });
  expect((await ask('GET', `/events?filter[target_id]=${id}&sort=-created_at`)).list).toMatchObject(
    [{ attributes: { target: { id } } }],
  );
  expect((await ask('GET', '/plans?filter[slug]=c3-small-x86')).list).toHaveLength(1);
  const systems = await ask('GET', '/plans/operating_systems?stats[total]=count');
  expect(systems.list).toHaveLength(20);
  expect(systems.meta.stats!.total.count).toBeGreaterThan(20);
  expect((await ask('DELETE', `/user_data/${ud.id}`)).status).toBe(204);
  expect((await ask('GET', `/user_data/${ud.id}`)).status).toBe(404);
});
