import { expect, test } from 'vitest';
import type { Call } from '../../../../src/adapters/driver-kit/call.ts';
import { server, userData, type Server } from '../../../../src/adapters/provider/latitude/api.ts';
import type { Owner } from '../../../../src/adapters/provider/latitude/ownership.ts';
import { createLists } from '../../../../src/adapters/provider/latitude/routes.ts';
import { LEAVING_TAG, toMachine } from '../../../../src/adapters/provider/latitude/view.ts';
import { SET_ID_TAG } from '../../../../src/domain/provisioning/provider-tags.ts';
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
/** A record like ours, but of another set. */
function recordOf(set: string): string {
  const tags = { 'shepherd-InstanceSetID': set, 'shepherd-op': witnessOf(9) };
  const note = Buffer.from(JSON.stringify({ tags, t: 0, v: 1, slot: slotOf(1) }));
  return `#cloud-config\n# shepherd ${note.toString('base64url')}\n{}\n`;
}

test('vectors 2 and 30: lists free slots, and our machine on its slot', async () => {
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

test('vector 14: disputes a server with our name and the record of another set, and does not reboot it', async () => {
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

test('disowns a server with our name and no record, and only counts other names', async () => {
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

test('keeps a machine whose slot left the configuration on its slot', async () => {
  const stand = await startStand();
  const { id } = await stand.made(stand.fleet(), 2);
  const provider = stand.fleet({ settings: { slots: [{ plan: PLAN, site: SITE, count: 1 }] } });
  const machines = await stand.machines(provider);
  expect(machines).toContainEqual(
    expect.objectContaining({ id, reservationId: slotOf(2), ownership: 'ours' }),
  );
  expect(machines).toHaveLength(2);
});

test('owns the one of two namesakes that was installed with the record', async () => {
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

test('owns the older server of an order that was executed twice, and deletes none', async () => {
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

test('vector 18: reads again if the total changes, and reports gaps if it keeps changing', async () => {
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

test('halves the size of a page that is too large from then on', async () => {
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

test('maps an unheard-of status to unknown, and reports it once', async () => {
  const { stand, read } = await startWithMachine();
  stand.fake.addFault({ effect: { type: 'statusText', shows: 'migrating' } });
  for (let n = 0; n < 2; n++) {
    expect(await read()).toMatchObject({ status: 'Unknown', power: 'unknown' });
  }
  expect(stand.log.count('a server is in an unknown state')).toBe(1);
});

test('does not find a server of another project', async () => {
  const stand = await startStand();
  const project = { project: stand.fake.reservedProject, billing: 'yearly' };
  const { id } = await stand.made(stand.fleet({ settings: project }));
  await stand.fails(stand.fleet().getMachine(id!, live), { kind: 'not-found' });
});

test('vector 20: sends 27 reads in a minute from each of two daemons', async () => {
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

/** Reads a whole list with these pages. */
async function readAll(
  pageOf: (number: number, size: number) => { data: object[]; total?: number },
  schema: typeof server | typeof userData = server,
) {
  let reads = 0;
  const send = async ({ query, ...asked }: Parameters<Call['send']>[0]): Promise<unknown> => {
    reads += 1;
    const { data, total } = pageOf(Number(query!['page[number]']), Number(query!['page[size]']));
    const meta = total === undefined ? undefined : { stats: { total: { count: total } } };
    return asked.schema.parseAsync({ data, meta });
  };
  const call = { send, observer: { walk: () => undefined } } as unknown as Call;
  const list = { endpoint: 'List', path: '/list', query: {}, schema };
  const read = await createLists(100).read<{ readonly id: string }>(call, list);
  return { ...read, reads, ids: read.items.map(({ id }) => id) };
}

test.each([
  [250, 100, 3],
  [200, 100, 2],
  [201, 100, 3],
  [0, 100, 1],
  // A short page need not be the last one.
  [5, 2, 3],
])(
  'vector 19: reads %i entries in pages of %i by %i reads, each entry once',
  async (total, most, expected) => {
    for (const schema of [server, userData]) {
      const all = Array.from({ length: total }, (_, n) => ({ id: `sv_${n}`, attributes: {} }));
      const { ids, complete, reads } = await readAll((number, size) => {
        const shown = Math.min(size, most);
        return { data: all.slice((number - 1) * shown, number * shown), total };
      }, schema);
      expect([complete, reads, new Set(ids).size]).toEqual([true, expected, total]);
    }
  },
);

test('keeps all other entries when one is unreadable', async () => {
  const data = [
    { id: 'sv_1', attributes: { hostname: 'one', status: 'on' } },
    { id: 'sv_2', attributes: { hostname: 'two', status: 7 } },
    { id: 'sv_3' },
  ];
  const { ids, unread } = await readAll(() => ({ data, total: 3 }));
  expect(ids).toEqual(['sv_1', 'sv_3']);
  expect(unread).toEqual([
    { id: 'sv_2', reservationId: 'two', fault: expect.stringContaining('status') },
  ]);
});

test('requires a second equal walk for a complete listing without a total', async () => {
  let walks = 0;
  const { ids, complete } = await readAll((number) => {
    if (number > 1) return { data: [] };
    walks += 1;
    return { data: [{ id: 'sv_1' }, ...(walks <= 1 ? [] : [{ id: 'sv_2' }])] };
  });
  expect([ids, complete, walks]).toEqual([['sv_1', 'sv_2'], true, 3]);
});

const NOW_MS = 1_700_000_000_000;
const MINUTE_MS = 60_000;
const SLOT = 'c3-small-x86/ASH/1';
const SET = 'shep0-ci000-000000000000000';

function ours(ageMs: number, tags: Record<string, string> = {}): Owner {
  const claim = { set: SET, hostname: 'shep-ash-a', witness: 'w' };
  const t = NOW_MS - ageMs;
  const mark = { ...claim, tags: { [SET_ID_TAG]: SET, ...tags }, t, slot: SLOT, hasScript: true };
  return { kind: 'ours', record: { ...claim, id: 'ud_1', mark, writtenAtMs: t } };
}
const shown = (server: Partial<Server>, owner: Owner = ours(10 * MINUTE_MS)) =>
  toMachine(
    { id: 'sv_1', hostname: 'shep-ash-a', ...server },
    { slot: SLOT, owner, remoteUser: 'root', nowMs: NOW_MS, staleOnMs: 3 * MINUTE_MS },
  );

test.each([
  ['starting_deploy', 'Provisioning', false, 'unknown'],
  ['deploying', 'Provisioning', false, 'unknown'],
  ['disk_erasing', 'Provisioning', false, 'unknown'],
  ['on', 'Running', false, 'on'],
  ['ready', 'Running', false, 'on'],
  ['off', 'Stopped', false, 'off'],
  ['failed_deployment', 'ProvisioningFailedPermanent', true, 'unknown'],
  ['failed_disk_erasing', 'ProvisioningFailedPermanent', true, 'unknown'],
  ['rescue_mode', 'Unknown', false, 'on'],
  ['unknown', 'Unknown', false, 'unknown'],
  ['never_heard_of', 'Unknown', false, 'unknown'],
  ['constructor', 'Unknown', false, 'unknown'],
])('vector 15: maps the state %s', (status, expected, failed, power) => {
  expect(shown({ status })).toMatchObject({ status: expected, failed, power });
});

test('vector 15: gives no address for a server whose deployment has just begun', () => {
  const address = { primary_ipv4: '198.51.100.7' };
  expect(shown({ status: 'starting_deploy', ...address }).address).toBeNull();
  expect(shown({ status: 'deploying', ...address }).address).toBe('198.51.100.7');
});

test('vector 16: reads "on" as power, except for three minutes after a requested installation', () => {
  const at = (ageMs: number) => shown({ status: 'on' }, ours(ageMs));
  expect(at(3 * MINUTE_MS - 1)).toMatchObject({ status: 'Provisioning', power: 'on' });
  expect(at(3 * MINUTE_MS)).toMatchObject({ status: 'Running', power: 'on' });
});

test.each([
  [{ primary_ipv4: '198.51.100.7', primary_ipv6: '2001:db8::1' }, '198.51.100.7'],
  [{ primary_ipv6: '2001:db8::1' }, '[2001:db8::1]'],
  [{ primary_ipv6: '2001:db8::1/64' }, '[2001:db8::1]'],
  [{ primary_ipv4: 'soon', primary_ipv6: 'later' }, null],
  [{ primary_ipv4: '198.51.100.7:2222' }, null],
  [{}, null],
])('derives the address of %j', (server, address) => {
  expect(shown({ status: 'on', ...server }).address).toBe(address);
});

test('shows a server on its slot with its known data', () => {
  const server = { status: 'on', hostname: 'SHEP-ASH-A', plan: { slug: 'c3-small-x86' } };
  expect(shown({ ...server, region: { site: { slug: 'ASH' } } })).toMatchObject({
    id: 'sv_1',
    reservationId: SLOT,
    hostname: 'shep-ash-a',
    plan: 'c3-small-x86',
    location: 'ASH',
    availability: 'KnownUsed',
    tags: { [SET_ID_TAG]: SET },
  });
  expect(shown({ ...server, site: 'NYC' }).location).toBe('NYC');
  expect(shown({ status: 'on' })).toMatchObject({ plan: 'c3-small-x86', location: 'ASH' });
});

test('vector 14: marks a foreign machine, and shows nothing of its record', () => {
  expect(shown({ status: 'on' }, { kind: 'untagged' }).tags).toEqual({});
  expect(shown({ status: 'on' }, { kind: 'disputed' }).tags).toEqual({ [SET_ID_TAG]: 'disputed' });
});

test('disowns a machine that leaves at the end of its billing cycle', () => {
  const machine = shown({ status: 'off' }, ours(0, { [LEAVING_TAG]: 'since then' }));
  expect(machine).toMatchObject({ status: 'Missing', reservationId: SLOT });
  expect(machine.tags).toEqual({ [SET_ID_TAG]: 'disputed', [LEAVING_TAG]: 'since then' });
});
