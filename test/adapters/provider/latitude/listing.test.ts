import { expect, test } from 'vitest';
import {
  callOf,
  live,
  nameOf,
  OTHER_SET,
  PLAN,
  SITE,
  slotOf,
  startStand,
  witnessOf,
} from './stand.ts';

const LIST = 'GET /servers';
/** A record of ours in every way, but of another set. */
function recordOf(set: string): string {
  const tags = { 'shepherd-InstanceSetID': set, 'shepherd-op': witnessOf(9) };
  const note = Buffer.from(JSON.stringify({ tags, t: 0, v: 1, slot: slotOf(1) }));
  return `#cloud-config\n# shepherd ${note.toString('base64url')}\n{}\n`;
}

test('a machine that is made is in the listing, and its slot is not free any more', async () => {
  const stand = await startStand();
  const provider = stand.fleet();
  const { id } = await stand.made(provider);
  const { machines, complete } = await stand.run(provider.listMachines(live));
  expect(complete).toBe(true);
  expect(machines).toMatchObject([
    { id, reservationId: slotOf(1), availability: 'KnownUsed', status: 'Running', power: 'on' },
    { id: null, reservationId: slotOf(2), availability: 'KnownUnused' },
  ]);
  const bare = await stand.run(stand.open().listMachines({}, callOf()));
  expect(bare.machines.map(({ reservationId }) => reservationId)).toEqual([slotOf(1), slotOf(2)]);
});

test('vector 14: a server of our name with the record of another set is disputed, and nobody reboots it', async () => {
  const stand = await startStand();
  const provider = stand.fleet();
  stand.stranger(nameOf(1));
  await stand.claim(OTHER_SET, nameOf(1), recordOf(OTHER_SET));
  const [server] = stand.fake.servers();
  const { machines } = await stand.run(provider.listMachines(live));
  expect(machines).toMatchObject([
    { id: server!.id, tags: { 'shepherd-InstanceSetID': 'disputed' }, ownership: 'foreign' },
    { reservationId: slotOf(2) },
  ]);
  const seq = stand.lastSeq();
  await expect(stand.run(provider.rebootMachine(server!.id, 'force', live))).rejects.toMatchObject({
    kind: 'conflict',
  });
  const bare = stand.open();
  await expect(stand.run(bare.rebootMachine(server!.id, 'force', callOf()))).rejects.toMatchObject({
    kind: 'auth',
  });
  expect(stand.changes(seq)).toEqual([]);
});

test('a server of our name without a record is nobody’s, and other names are only counted', async () => {
  const stand = await startStand();
  const provider = stand.fleet();
  for (const name of [nameOf(1), 'somebody', 'shep-of-somebody']) stand.stranger(name);
  const { machines } = await stand.run(provider.listMachines(live));
  expect(machines).toMatchObject([
    { hostname: nameOf(1), ownership: 'untagged', reservationId: slotOf(1) },
    { reservationId: slotOf(2), availability: 'KnownUnused' },
  ]);
  expect(stand.log.lines).toContainEqual(
    expect.objectContaining({ fields: expect.objectContaining({ others: 2 }) }),
  );
});

test('a machine whose slot left the configuration stays ours, on its slot', async () => {
  const stand = await startStand();
  const { id } = await stand.made(stand.fleet(), 2);
  const provider = stand.fleet({ settings: { slots: [{ plan: PLAN, site: SITE, count: 1 }] } });
  const { machines } = await stand.run(provider.listMachines(live));
  expect(machines).toContainEqual(
    expect.objectContaining({ id, reservationId: slotOf(2), ownership: 'ours' }),
  );
  expect(machines).toHaveLength(2);
});

test('of two servers of one name the one that was installed with the record is ours', async () => {
  const stand = await startStand();
  const provider = stand.fleet();
  const { id } = await stand.made(provider);
  stand.stranger(nameOf(1));
  const { machines } = await stand.run(provider.listMachines(live));
  const named = machines.filter(({ hostname }) => hostname === nameOf(1));
  expect(named.map((one) => [one.id === id, one.ownership])).toEqual([
    [true, 'ours'],
    [false, 'foreign'],
  ]);
  const asked = stand.count('GET /servers/{id}/deploy_config');
  await stand.run(provider.listMachines(live));
  expect(stand.count('GET /servers/{id}/deploy_config')).toBe(asked);
});

test('an order that was carried out twice: the older server is ours, and none is deleted', async () => {
  const stand = await startStand();
  const provider = stand.fleet();
  const { id } = await stand.made(provider);
  const [record] = stand.fake.userData();
  const attributes = {
    ...{ project: stand.fake.project, plan: PLAN, site: SITE, hostname: nameOf(1) },
    ...{ operating_system: 'ubuntu_24_04_x64_lts', user_data: record!.id },
  };
  await stand.api('POST', '/servers', attributes, 'servers');
  const { machines } = await stand.run(provider.listMachines(live));
  const ours = machines.filter(({ ownership, id: one }) => ownership === 'ours' && one !== null);
  expect(ours.map((machine) => machine.id)).toEqual([id]);
  expect(stand.fake.servers()).toHaveLength(2);
});

test('a record without a server keeps its slot for as long as its server may take to show up', async () => {
  const stand = await startStand();
  await stand.abandon();
  const another = stand.fleet();
  const slots = async () =>
    (await stand.run(another.listMachines(live))).machines.map((one) => one.reservationId);
  expect(await slots()).toEqual([slotOf(2)]);
  await stand.wait(120_000);
  expect(await slots()).toEqual([slotOf(1), slotOf(2)]);
});

test('vector 17: a page that fails, fails the listing', async () => {
  const stand = await startStand({}, { pageSize: 1 });
  for (const name of [nameOf(1), 'somebody']) stand.stranger(name);
  const provider = stand.fleet();
  stand.fake.addFault({
    match: { method: 'GET', route: '/servers', page: 2 },
    effect: { type: 'status', code: 500 },
  });
  await expect(stand.run(provider.listMachines(live))).rejects.toMatchObject({ kind: 'transient' });
});

test('vector 18: a total that changes is read again; if it keeps changing the listing has gaps', async () => {
  const stand = await startStand({}, { pageSize: 1 });
  for (const name of ['one', 'two', 'three']) stand.stranger(name);
  const provider = stand.fleet();
  const pages = { match: { method: 'GET', route: '/servers' } };
  stand.fake.addFault({ ...pages, times: 2, effect: { type: 'pages', does: 'drifting' } });
  expect((await stand.run(provider.listMachines(live))).complete).toBe(true);
  expect(stand.count(LIST)).toBeGreaterThan(3);
  stand.fake.addFault({ ...pages, effect: { type: 'pages', does: 'drifting' } });
  expect((await stand.run(provider.listMachines(live))).complete).toBe(false);
});

test('a page that is too large is asked for at half its size, from then on', async () => {
  const stand = await startStand();
  for (let n = 0; n < 60; n++) stand.stranger(`somebody-${n}`);
  stand.fake.addFault({ effect: { type: 'pageSize', max: 30, code: 422 } });
  const provider = stand.fleet();
  expect((await stand.run(provider.listMachines(live))).complete).toBe(true);
  const seq = stand.lastSeq();
  expect((await stand.run(provider.listMachines(live))).complete).toBe(true);
  const sizes = stand.fake.requests(seq).map(({ query }) => query['page[size]']);
  expect(new Set(sizes)).toEqual(new Set(['25']));
});

test('pages that are shorter than they were asked to be are not the last ones', async () => {
  const stand = await startStand();
  for (const name of ['one', 'two', 'three', 'four', nameOf(1)]) stand.stranger(name);
  stand.fake.addFault({ effect: { type: 'pageSize', max: 2 } });
  const { machines, complete } = await stand.run(stand.fleet().listMachines(live));
  expect(complete).toBe(true);
  expect(machines).toContainEqual(expect.objectContaining({ hostname: nameOf(1) }));
});

test('vector 30: who logs in is as the operating system has it', async () => {
  const stand = await startStand();
  const provider = stand.fleet();
  const machine = await stand.made(provider);
  const systems = (await stand.api('GET', '/plans/operating_systems?page[size]=100')).data as {
    attributes: { slug: string; user: string };
  }[];
  const system = systems.find(({ attributes }) => attributes.slug === 'ubuntu_24_04_x64_lts')!;
  expect(machine.remoteUser).toBe(system.attributes.user);
  const { machines } = await stand.run(provider.listMachines(live));
  expect(machines[0]!.remoteUser).toBe(system.attributes.user);
});

test('a status that nobody has heard of is unknown, and told once', async () => {
  const stand = await startStand();
  const provider = stand.fleet();
  const { id } = await stand.made(provider);
  stand.fake.addFault({ effect: { type: 'statusText', shows: 'migrating' } });
  for (let n = 0; n < 2; n++) {
    const machine = await stand.run(provider.getMachine(id!, live));
    expect(machine).toMatchObject({ status: 'Unknown', power: 'unknown' });
  }
  expect(stand.log.count('server in an unknown state')).toBe(1);
});

test('a server of another project is not found', async () => {
  const stand = await startStand();
  const project = { project: stand.fake.reservedProject, billing: 'yearly' };
  const other = stand.fleet({ settings: project });
  const { id } = await stand.made(other);
  const provider = stand.fleet();
  await expect(stand.run(provider.getMachine(id!, live))).rejects.toMatchObject({
    kind: 'not-found',
  });
});

/** Waits for the answer that there is no such server. */
const isNotFound = (call: Promise<unknown>) =>
  expect(call).rejects.toMatchObject({ kind: 'not-found' });

test('vector 20: of 61 reads that are wanted at once no more than 54 are sent in any minute', async () => {
  const stand = await startStand({ limits: { reads: 10_000 } });
  const driver = stand.open();
  const reads = Array.from({ length: 61 }, (_, n) =>
    isNotFound(driver.getMachine(`sv_${n}`, callOf())),
  );
  await stand.run(Promise.all(reads));
  const atMs = stand.fake.requests().map((request) => request.atMs);
  expect(atMs).toHaveLength(61);
  for (const fromMs of atMs) {
    const within = atMs.filter((each) => each >= fromMs && each < fromMs + 60_000);
    expect(within.length).toBeLessThanOrEqual(54);
  }
});

test('vector 20: two daemons have half of it each', async () => {
  const stand = await startStand({ limits: { reads: 10_000 } });
  const driver = stand.open({ daemons: 2 });
  const reads = Array.from({ length: 30 }, (_, n) =>
    isNotFound(driver.getMachine(`sv_${n}`, callOf())),
  );
  await stand.run(Promise.all(reads));
  const atMs = stand.fake.requests().map((request) => request.atMs);
  expect(atMs[27]! - atMs[0]!).toBeGreaterThanOrEqual(60_000);
});
