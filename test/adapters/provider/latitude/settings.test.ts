import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import type { Call } from '../../../../src/adapters/driver-kit/call.ts';
import { bareKey } from '../../../../src/adapters/driver-kit/our-key.ts';
import type { Server } from '../../../../src/adapters/provider/latitude/api.ts';
import { latitudeDriver } from '../../../../src/adapters/provider/latitude/driver.ts';
import { createOwnership } from '../../../../src/adapters/provider/latitude/ownership.ts';
import {
  createStoredRecords,
  writeRecord,
} from '../../../../src/adapters/provider/latitude/records.ts';
import type { Routes } from '../../../../src/adapters/provider/latitude/routes.ts';
import {
  hostnameOf,
  placesOf,
  type LatitudeSettings,
} from '../../../../src/adapters/provider/latitude/settings.ts';
import { SET_ID_TAG, WITNESS_TAG } from '../../../../src/domain/provisioning/provider-tags.ts';
import { publicKeyLine } from '../driver-stand.ts';
import {
  faultAt,
  KEY,
  live,
  startStand,
  nameOf,
  SET,
  slotOf,
  witnessOf,
  type LatitudeStand,
} from './stand.ts';

const schema = latitudeDriver.settings({
  env: { TOKEN: 'a-token', SAME: 'a-token', OTHER: 'another-token' },
  baseDirectory: '/',
  checkFiles: false,
});
const GIVEN = {
  token: '${TOKEN}',
  project: 'proj_A1b2',
  namePrefix: 'shep-',
  sshKeyName: 'shepherd',
  slots: [{ plan: 'c3-small-x86', site: 'ASH', count: 2 }],
};
const settings = (change: object = {}) => schema.parse({ ...GIVEN, ...change }) as LatitudeSettings;
/** The errors, by their place. */
function faults(change: object): Record<string, string> {
  const { error } = schema.safeParse({ ...GIVEN, ...change });
  const issues = error?.issues ?? [];
  return Object.fromEntries(issues.map(({ path, message }) => [path.join('.'), message]));
}

test.each([
  ['namePrefix', { namePrefix: 'Shepherd_' }],
  ['namePrefix', { namePrefix: 'shep' }],
  ['namePrefix', { namePrefix: 'FIXME-' }],
  ['namePrefix', { namePrefix: 'a-name-too-long-' }],
  ['project', { project: 'my-project' }],
  ['project', { project: undefined }],
  ['sshKeyName', { sshKeyName: 'FIXME' }],
  ['slots', { slots: [] }],
  ['slots', { slots: 'c3-small-x86' }],
  ['slots.0.site', { slots: [{ plan: 'c3-small-x86', site: 'ASHBURN', count: 1 }] }],
  ['slots.0.site', { slots: [{ plan: 'c3-small-x86', site: 'ash', count: 1 }] }],
  ['slots.0.count', { slots: [{ plan: 'c3-small-x86', site: 'ASH', count: 0 }] }],
  ['baseUrl', { baseUrl: 'http://api.example.org' }],
  ['billing', { billing: 'weekly' }],
  ['raid', { raid: 'raid-5' }],
  ['onDeprovision', { onDeprovision: 'keep' }],
  ['token', { token: 'written-out' }],
])('vector 1: refuses %s before any request: %j', (key, change) => {
  expect(Object.keys(faults(change))).toContain(key);
});

test('refuses a repeated pair of plan and site, whose names would collide', () => {
  const [slot] = GIVEN.slots;
  expect(faults({ slots: [slot, { ...slot, count: 1 }] })['slots']).toMatch(/twice/);
  expect(faults({ slots: [slot, { ...slot, site: 'NYC' }] })).toEqual({});
});

test('vector 2: gives slots the same names each time, which the vendor accepts', () => {
  const slots = [
    { plan: 'c3-small-x86', site: 'ASH', count: 2 },
    { plan: 'm4-metal-large', site: 'TYO23', count: 40 },
  ];
  const places = placesOf(slots, 'a-name-15-long-');
  const names = places.map(({ hostname }) => hostname);
  const place = { plan: 'c3-small-x86', site: 'ASH' };
  expect(places.slice(0, 2)).toEqual([
    { ...place, slot: 'c3-small-x86/ASH/1', hostname: 'a-name-15-long-ash-jnl4msbv' },
    { ...place, slot: 'c3-small-x86/ASH/2', hostname: names[1] },
  ]);
  expect(new Set(names).size).toBe(42);
  for (const name of names) expect(name).toMatch(/^[a-z0-9][a-z0-9.-]{0,30}[a-z0-9]$/);
  expect(Math.max(...names.map(({ length }) => length))).toBe(29);
  expect(hostnameOf('c3-small-x86/ASH/1', 'a-name-15-long-')).toBe(names[0]);
});

test('requires two providers to have names without a common beginning, and a key each', () => {
  const overlap = (one: object, other: object) =>
    latitudeDriver.overlaps!(settings(one), settings({ token: '${OTHER}', ...other }));
  expect(overlap({ namePrefix: 'shep-' }, { namePrefix: 'shep-b-' })).toBe('namePrefix');
  expect(overlap({ namePrefix: 'shep-a-' }, { namePrefix: 'shep-b-' })).toBeNull();
  const elsewhere = { project: 'proj_Other', namePrefix: 'shep-b-' };
  expect(overlap({}, elsewhere)).toBeNull();
  // Each provider would keep to a separate budget.
  expect(overlap({}, { ...elsewhere, token: '${SAME}' })).toBe('token');
  const loopback = { token: '${SAME}', baseUrl: 'http://127.0.0.1:8080' };
  expect(overlap({}, { ...elsewhere, ...loopback })).toBeNull();
});

test('has a complete configuration in the document, which is valid unchanged', () => {
  const page = readFileSync(join(import.meta.dirname, '../../../../docs/latitude.md'), 'utf8');
  const [, example = ''] = /```yaml\n([^]*?)```/.exec(page) ?? [];
  const { providers } = parse(example) as { providers: { latitude: Record<string, unknown> } };
  const { driver, instanceSetId, ...own } = providers.latitude;
  expect(driver).toBe(latitudeDriver.name);
  expect(instanceSetId).toMatch(/^[a-z0-9]{5}-[a-z0-9]{5}-[a-z0-9]{15}$/);
  expect(schema.safeParse({ ...own, token: '${TOKEN}' }).error?.issues).toBeUndefined();
  expect(own['token']).toBe('${LATITUDE_TOKEN}');
});

const keysOf = async (stand: LatitudeStand) =>
  (await stand.api('GET', '/ssh_keys')).map(({ attributes }) => attributes);
const storeKey = ({ api, fake: { project } }: LatitudeStand, name: string, public_key: string) =>
  api('POST', '/ssh_keys', { name, public_key, project }, 'ssh_keys');

test('stores our key once, without its comment, also if the answer is lost', async () => {
  const stand = await startStand();
  stand.fake.addFault(faultAt('POST /ssh_keys', { type: 'drop', phase: 'after' }));
  for (let n = 0; n < 2; n++) await stand.run(stand.fleet().prepare(live));
  expect(await keysOf(stand)).toMatchObject([{ name: 'shepherd', public_key: bareKey(KEY) }]);
  expect(stand.count('POST /ssh_keys')).toBe(1);
});

test('vector 29: reports a different key with our name as a conflict, and writes nothing', async () => {
  const stand = await startStand();
  await storeKey(stand, 'shepherd', publicKeyLine(2));
  const seq = stand.lastSeq();
  const message = expect.stringMatching(/ssh\.previousKeyPaths.*another sshKeyName/);
  await stand.fails(stand.fleet().prepare(live), { kind: 'conflict', message });
  expect(stand.changes(seq)).toEqual([]);
});

test('stores the current key beside an earlier one of ours, which stays', async () => {
  const stand = await startStand();
  const earlier = publicKeyLine(2);
  await storeKey(stand, 'shepherd', earlier);
  const provider = stand.fleet({ previousKeys: [earlier] });
  await stand.run(provider.prepare(live));
  await stand.run(provider.prepare(live));
  const stored = (await keysOf(stand)).map((key) => bareKey(key['public_key']!));
  expect(stored).toEqual([bareKey(earlier), bareKey(KEY)]);
  expect(stand.count('POST /ssh_keys')).toBe(2);
});

test('uses our key under another name', async () => {
  const stand = await startStand();
  await storeKey(stand, 'from-before', KEY);
  await stand.run(stand.fleet().prepare(live));
  expect(await keysOf(stand)).toHaveLength(1);
});

test('vector 3: refuses hourly in a reserved project, and yearly in one on demand', async () => {
  const stand = await startStand();
  const { reservedProject: project } = stand.fake;
  const prepare = (settings: object) => stand.fleet({ settings }).prepare(live);
  await stand.fails(prepare({ project }), { kind: 'invalid' });
  await stand.fails(prepare({ billing: 'yearly' }), { kind: 'invalid' });
  await stand.run(prepare({ billing: 'monthly' }));
  await stand.run(prepare({ project, billing: 'yearly' }));
  expect(stand.log.lines.map(({ message }) => message)).toContainEqual(
    expect.stringContaining('paid monthly in advance'),
  );
});

test('names a system that does not exist, and a project that the key does not show', async () => {
  const stand = await startStand();
  for (const [setting, name] of Object.entries({ os: 'plan9_4', project: 'proj_NotThere' })) {
    const provider = stand.fleet({ settings: { [setting]: name } });
    const message = expect.stringContaining(name);
    await stand.fails(provider.prepare(live), { message });
  }
});

test.each([401, 403] as const)(
  'does not use a refused key (%i) again for a minute',
  async (code) => {
    const stand = await startStand();
    const provider = stand.fleet();
    stand.fake.addFault({ effect: { type: 'status', code } });
    await stand.fails(provider.listMachines(live), { kind: 'auth' });
    stand.fake.clearFaults();
    const seq = stand.lastSeq();
    await stand.fails(provider.listMachines(live), { kind: 'auth' });
    expect(stand.sent(seq)).toEqual([]);
    await stand.wait(61_000);
    expect(await stand.machines(provider)).toHaveLength(2);
  },
);

const TAGS = { [SET_ID_TAG]: SET, [WITNESS_TAG]: witnessOf(9) };
const NOW_MS = 1_700_000_000_000;
const YEARS_MS = 100 * 365 * 86_400_000;

const description = `shepherd ${SET} ${nameOf(1)} ${witnessOf(9)}`;
const dated = (t: number) =>
  writeRecord(
    { set: SET, hostname: nameOf(1), witness: witnessOf(9), tags: TAGS, t, slot: slotOf(1) },
    '{}\n',
  );

test('ages a record from the future, too, and treats it as young when it is rewritten', async () => {
  let nowMs = NOW_MS;
  let data = { id: 'ud_1', ...dated(NOW_MS + YEARS_MS) };
  const listUserData = async () => ({ items: [data], unread: [], complete: true });
  const routes = { listUserData, getUserData: async () => data } as unknown as Routes;
  const stored = createStoredRecords(routes, { clock: { now: () => nowMs } });
  const ageMs = async () => nowMs - (await stored.read({} as Call)).all[0]!.writtenAtMs;
  expect(await ageMs()).toBe(0);
  nowMs += 300_000;
  expect(await ageMs()).toBe(300_000);
  const alone = await stored.of({} as Call, nameOf(1));
  expect(alone.all[0]!.writtenAtMs).toBe(NOW_MS);
  data = { id: 'ud_1', ...dated(nowMs) };
  expect(await ageMs()).toBe(0);
  nowMs += 60_000;
  data = { id: 'ud_1', ...dated(nowMs - 3_600_000) };
  expect(await ageMs()).toBe(3_600_000);
});

test.each([
  ['written for a server that does not show up', (nowMs: number) => dated(nowMs)],
  ['unreadable and without a date', () => ({ description, content: 'bm9uc2Vuc2U=' })],
  ['dated in the future', () => dated(Date.UTC(2999, 0, 1))],
])('lets a record that is %s hold its slot for a while only', async (_what, given) => {
  const stand = await startStand();
  const provider = stand.fleet();
  await stand.write(given(stand.clock.now()));
  const slots = async () => (await stand.machines(provider)).map((each) => each.reservationId);
  expect(await slots()).toEqual([slotOf(2)]);
  expect(await stand.run(provider.isReusable(slotOf(1), live))).toBe(false);
  await stand.wait(180_000);
  expect(await slots()).toEqual([slotOf(1), slotOf(2)]);
  expect(await stand.run(provider.isReusable(slotOf(1), live))).toBe(true);
  expect(stand.fake.userData()).toEqual([]);
});

test('judges an installation from the future like any other after a while', async () => {
  const routes = { getDeployConfig: async () => ({ userData: null }) } as unknown as Routes;
  const clock = { now: () => NOW_MS, monotonic: () => 0 };
  const ownership = createOwnership({ instanceSetId: SET, settle: 120_000 }, { routes, clock });
  const mark = { t: NOW_MS + YEARS_MS };
  const record = { id: 'ud_1', mark, writtenAtMs: clock.now() - 120_000 } as never;
  const server = { id: 'sv_1' } as Server;
  expect(await ownership.isInstalledWith({} as Call, server, record)).toBe(false);
});
