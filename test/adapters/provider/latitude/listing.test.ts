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
  startWithMachine,
  witnessOf,
} from './stand.ts';

const LIST = { method: 'GET', route: '/servers' };
const CONFIG = 'GET /servers/{id}/deploy_config';
/** A record of ours in every way, but of another set. */
function recordOf(set: string): string {
  const tags = { 'shepherd-InstanceSetID': set, 'shepherd-op': witnessOf(9) };
  const note = Buffer.from(JSON.stringify({ tags, t: 0, v: 1, slot: slotOf(1) }));
  return `#cloud-config\n# shepherd ${note.toString('base64url')}\n{}\n`;
}

test('vectors 2 and 30: lists free slots, and a machine of ours on its slot', async () => {
  const stand = await startStand();
  const provider = stand.fleet();
  const free = { id: null, availability: 'KnownUnused', location: SITE };
  expect(await stand.machines(provider)).toMatchObject([
    { ...free, reservationId: slotOf(1) },
    { ...free, reservationId: slotOf(2) },
  ]);
  const { id } = await stand.made(provider);
  const used = { availability: 'KnownUsed', status: 'Running', power: 'on', remoteUser: 'ubuntu' };
  expect(await stand.machines(provider)).toMatchObject([
    { id, reservationId: slotOf(1), hostname: nameOf(1), ...used },
    { ...free, reservationId: slotOf(2) },
  ]);
  const bare = await stand.run(stand.open().listMachines({}, callOf()));
  expect(bare.machines.map(({ reservationId }) => reservationId)).toEqual([slotOf(1), slotOf(2)]);
});

test('vector 14: a server of our name with the record of another set is disputed, and nobody reboots it', async () => {
  const stand = await startStand();
  const provider = stand.fleet();
  const id = stand.stranger(nameOf(1));
  await stand.claim(OTHER_SET, nameOf(1), recordOf(OTHER_SET));
  expect(await stand.machines(provider)).toMatchObject([
    { id, tags: { 'shepherd-InstanceSetID': 'disputed' }, ownership: 'foreign' },
    { reservationId: slotOf(2) },
  ]);
  const seq = stand.lastSeq();
  await stand.fails(provider.rebootMachine(id, 'force', live), { kind: 'conflict' });
  await stand.fails(stand.open().rebootMachine(id, 'force', callOf()), { kind: 'auth' });
  expect(stand.changes(seq)).toEqual([]);
});

test('a server of our name without a record is nobody’s, and other names are only counted', async () => {
  const stand = await startStand();
  for (const name of [nameOf(1), 'somebody', 'shep-of-somebody']) stand.stranger(name);
  expect(await stand.machines(stand.fleet())).toMatchObject([
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
  const machines = await stand.machines(provider);
  expect(machines).toContainEqual(
    expect.objectContaining({ id, reservationId: slotOf(2), ownership: 'ours' }),
  );
  expect(machines).toHaveLength(2);
});

test('of two servers of one name the one that was installed with the record is ours', async () => {
  const { stand, provider, id } = await startWithMachine();
  stand.stranger(nameOf(1));
  const named = (await stand.machines(provider)).filter((one) => one.hostname === nameOf(1));
  expect(named.map((one) => [one.id === id, one.ownership])).toEqual([
    [true, 'ours'],
    [false, 'foreign'],
  ]);
  const asked = stand.count(CONFIG);
  await stand.machines(provider);
  expect(stand.count(CONFIG)).toBe(asked);
});

test('an order that was carried out twice: the older server is ours, and none is deleted', async () => {
  const { stand, provider, id } = await startWithMachine();
  const [record] = stand.fake.userData();
  const attributes = {
    ...{ project: stand.fake.project, plan: PLAN, site: SITE, hostname: nameOf(1) },
    ...{ operating_system: 'ubuntu_24_04_x64_lts', user_data: record!.id },
  };
  await stand.api('POST', '/servers', attributes, 'servers');
  const machines = await stand.machines(provider);
  const ours = machines.filter((one) => one.ownership === 'ours' && one.id !== null);
  expect(ours.map((machine) => machine.id)).toEqual([id]);
  expect(stand.fake.servers()).toHaveLength(2);
});

test('vector 18: a total that changes is read again; if it keeps changing the listing has gaps', async () => {
  const stand = await startStand({}, { pageSize: 1 });
  for (const name of ['one', 'two', 'three']) stand.stranger(name);
  const provider = stand.fleet();
  const isComplete = async () => (await stand.run(provider.listMachines(live))).complete;
  const effect = { type: 'pages', does: 'drifting' } as const;
  stand.fake.addFault({ match: LIST, times: 2, effect });
  expect(await isComplete()).toBe(true);
  expect(stand.count('GET /servers')).toBeGreaterThan(3);
  stand.fake.addFault({ match: LIST, effect });
  expect(await isComplete()).toBe(false);
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

test('a status that nobody has heard of is unknown, and told once', async () => {
  const { stand, read } = await startWithMachine();
  stand.fake.addFault({ effect: { type: 'statusText', shows: 'migrating' } });
  for (let n = 0; n < 2; n++) {
    expect(await read()).toMatchObject({ status: 'Unknown', power: 'unknown' });
  }
  expect(stand.log.count('server in an unknown state')).toBe(1);
});

test('a server of another project is not found', async () => {
  const stand = await startStand();
  const project = { project: stand.fake.reservedProject, billing: 'yearly' };
  const { id } = await stand.made(stand.fleet({ settings: project }));
  await stand.fails(stand.fleet().getMachine(id!, live), { kind: 'not-found' });
});

test('vector 20: two daemons send 27 reads in a minute each', async () => {
  const stand = await startStand({ limits: { reads: 10_000 } });
  const driver = stand.open({ daemons: 2 });
  const reads = Array.from({ length: 30 }, (_, n) =>
    expect(driver.getMachine(`sv_${n}`, callOf())).rejects.toMatchObject({ kind: 'not-found' }),
  );
  await stand.run(Promise.all(reads));
  const atMs = stand.fake.requests().map((request) => request.atMs);
  const within = atMs.filter((each) => each < atMs[0]! + 60_000);
  expect([within.length, atMs.length]).toEqual([27, 30]);
});
