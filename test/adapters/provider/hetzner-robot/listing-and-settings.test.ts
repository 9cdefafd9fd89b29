import { expect, test } from 'vitest';
import { hetznerRobotDriver } from '../../../../src/adapters/provider/hetzner-robot/driver.ts';
import { addressOf } from '../../../../src/adapters/provider/hetzner-robot/mapping.ts';
import { robotSchema } from '../../../../src/adapters/provider/hetzner-robot/settings.ts';
import { md5OfLine } from '../../../../src/adapters/provider/hetzner-robot/systems.ts';
import { providerSchema } from '../../../../src/config/provider-schema.ts';
import {
  DISPUTED,
  SET_ID_TAG,
  WITNESS_TAG,
} from '../../../../src/domain/provisioning/provider-tags.ts';
import { testRows } from '../../../support/rows.ts';
import { publicKeyLine } from '../driver-stand.ts';
import {
  at,
  callOf,
  failureOf,
  IMAGE,
  INSTANCE_SET_ID,
  OUR_NAME,
  PREFIXES,
  PREVIOUS_KEY,
  startInstalled,
  startStand,
  WITNESS,
} from './stand.ts';

test('vector 2: lists one free and one of our servers, and omits one, with one request', async () => {
  const names = ['free-a', OUR_NAME, 'mail1', 'shep-prod-old'];
  const { run, provider, sent } = await startStand({ servers: names.map((name) => ({ name })) });
  const { machines, complete } = await run(provider.listMachines({}, callOf()));
  expect([machines.length, complete]).toEqual([2, true]);
  expect(machines).toMatchObject([
    { id: null, reservationId: '321', availability: 'KnownUnused', plan: 'EX44' },
    {
      id: '322-bnxaaaas',
      ...{ availability: 'KnownUsed', plan: 'AX41-NVMe', location: 'FSN1-DC15' },
      tags: { [SET_ID_TAG]: INSTANCE_SET_ID, [WITNESS_TAG]: WITNESS },
    },
  ]);
  expect(sent()).toEqual(['GET /server']);
});

test('trusts a listing for a minute, including our own change', async () => {
  const { list, count, create, pass } = await startStand();
  await list();
  await list();
  expect(count(/^GET \/server$/)).toBe(1);
  const { id } = await create();
  expect(await list()).toMatchObject([{ id }]);
  await pass(61_000);
  await list();
  expect(count(/^GET \/server$/)).toBeGreaterThan(1);
});

test.each([
  ['2a01:4f8:111:4221::', '[2a01:4f8:111:4221::1]'],
  ['2a01:4f8:111:4221::/64', '[2a01:4f8:111:4221::1]'],
  ['2a01:4f8:111:4221:0:0:0:0', null],
  [null, null],
])('vector 4: derives from the net %s the address %s', (ipv6Net, address) => {
  expect(addressOf({ ipv4: null, ipv6Net })).toBe(address);
  expect(addressOf({ ipv4: '192.0.2.1', ipv6Net })).toBe('192.0.2.1');
});

test.each([{ cancelled: true }, { status: 'in process' }])(
  'vector 33: does not offer a free server with %j',
  async (fields) => {
    const { fake, list } = await startStand({ servers: 2 });
    fake.addFault({ match: { server: 321 }, effect: { type: 'fields', fields } });
    expect((await list()).map(({ reservationId }) => reservationId)).toEqual(['322']);
  },
);

test('lists and changes only the servers of the configuration', async () => {
  const { list, create, daemon, run } = await startStand({
    settings: { servers: [322] },
    servers: 2,
  });
  expect(await list()).toMatchObject([{ reservationId: '322' }]);
  expect(await failureOf(create())).toMatchObject({ kind: 'invalid' });
  const missing = await failureOf(run(daemon({ settings: { servers: [999] } }).prepare!(callOf())));
  expect(missing).toMatchObject({ kind: 'invalid', message: expect.stringContaining('999') });
});

testRows([
  [OUR_NAME, [{ tags: { [SET_ID_TAG]: DISPUTED } }]],
  ['free-321', []],
] as const)('changes nothing on a server %s with a claim of another set', async (name, listed) => {
  const { records, list, create, run, provider, resets, fake } = await startStand();
  fake.rename(321, name);
  await records.make('321', { set: 'other-00000-000000000000000' }, callOf());
  const machines = await list();
  expect(machines).toMatchObject(listed);
  expect(await failureOf(create())).toMatchObject({ kind: 'conflict' });
  for (const { id } of machines) {
    const reboot = run(provider.rebootMachine(id!, 'force', callOf()));
    expect(await failureOf(reboot)).toMatchObject({ kind: 'conflict' });
  }
  expect(resets()).toEqual([]);
});

test('repeats a rename that was reverted in Robot, and leaves a foreign name alone', async () => {
  const { id, fake, pass, list, machine, log } = await startInstalled();
  fake.rename(321, 'free-321');
  expect(await list()).toMatchObject([{ id }]);
  await pass(130_000);
  expect(machine().name).toBe(OUR_NAME);
  fake.rename(321, 'somebody-1');
  await pass(300_000);
  expect(machine().name).toBe('somebody-1');
  expect(await list()).toMatchObject([{ id }]);
  expect(log.count('a server of ours has another name than the one given')).toBe(2);
});

test('removes claims that never came to a name, and retired keys of ours', async () => {
  const { ask, fake, create, run, provider, pass, claim } = await startStand();
  const store = (name: string, line: string) =>
    ask('POST', '/key', `name=${name}&data=${encodeURIComponent(line)}`);
  await store('shepherd-old-1', PREVIOUS_KEY);
  await store('shepherd-old-of-somebody-else', publicKeyLine(7));
  fake.addFault(at('POST /server/{n}', { type: 'rename', does: 'ignored' }));
  await failureOf(create());
  const sweep = async (dryRun: boolean) =>
    (await run(provider.sweep!({ ...callOf(), dryRun }))).removed;
  expect(await sweep(true)).toEqual([]);
  await pass(3_700_000);
  const both = [
    { kind: 'claim', id: '321' },
    { kind: 'ssh-key', id: md5OfLine(PREVIOUS_KEY) },
  ];
  expect([await sweep(true), await sweep(false), await sweep(true)]).toEqual([both, both, []]);
  expect(await claim()).toBeUndefined();
});

const around = { env: { PASSWORD: 'x' }, baseDirectory: '/', checkFiles: false };
const WHOLE = {
  ...{ driver: 'hetzner-robot', instanceSetId: INSTANCE_SET_ID, user: '#ws+fleet' },
  ...{ password: '${PASSWORD}', ...PREFIXES, sshKeyName: 'shepherd', image: IMAGE },
};
const IMAGE_URL = 'https://images.example.net/a.tar.gz';

testRows([
  ['', {}],
  ['', { image: undefined, imageUrl: IMAGE_URL }],
  ['', { drives: { 321: ['eui.0025385b01'] }, servers: [321], plan: { 321: 'x' } }],
  ['', { layout: ['SWRAID 1', 'PART / ext4 all', 'LV vg0 root / ext4 10G'] }],
  // Plain http is for this computer only.
  ['', { baseUrl: 'http://127.0.0.1:8080/' }],
  ['baseUrl', { baseUrl: 'http://robot.example.net' }],
  // Vector 1: neither prefix begins with the other.
  ['freePrefix', { freePrefix: 'shep-', namePrefix: 'shep-prod-' }],
  ['freePrefix', { freePrefix: 'shep-prod-x-' }],
  ['freePrefix', { freePrefix: 'Upper-' }],
  ['user', { user: '' }],
  ['user', { user: 'a:b' }],
  ['password', { password: 'written-out' }],
  ['namePrefix', { namePrefix: 'FIXME-' }],
  ['namePrefix', { namePrefix: 'fixme-' }],
  ['namePrefix', { namePrefix: 'no-hyphen' }],
  ['namePrefix', { namePrefix: `${'a'.repeat(21)}-` }],
  ['servers', { servers: [] }],
  ['servers.0', { servers: ['321'] }],
  ['image', { image: undefined }],
  ['image', { image: '../../etc/passwd' }],
  ['image', { image: 'a b' }],
  ['image', { imageUrl: IMAGE_URL }],
  ['imageUrl', { image: undefined, imageUrl: IMAGE_URL.replace('https', 'http') }],
  ['drives', { drives: { x: ['eui.1'] } }],
  ['layout.0', { layout: ['BOOTLOADER grub'] }],
  ['layout.0', { layout: ['PART / ext4 all\nIMAGE /x'] }],
  ['wipe', { wipe: 'thorough' }],
  ['rescueKeyFile', { rescueKeyFile: 'rescue-key' }],
] as const)('reports %j as the fault if %j is configured', (path, change) => {
  const { error } = providerSchema(around).safeParse({ ...WHOLE, ...change });
  const paths = error?.issues.map((issue) => issue.path.join('.')) ?? [];
  expect(paths.join()).toContain(path);
  expect(paths.length > 0).toBe(path !== '');
});

test('detects two providers of one account whose names begin with each other', () => {
  const { overlaps } = hetznerRobotDriver;
  const { driver: _, instanceSetId: _set, image: _image, ...own } = WHOLE;
  const one = robotSchema(around).parse({ ...own, imageUrl: IMAGE_URL });
  // Two users may belong to one account. Only lists of servers tell them apart.
  expect(overlaps!(one, { ...one, user: 'other' })).toBe('namePrefix');
  const listed = { ...one, servers: [321, 322] };
  expect(overlaps!(listed, { ...listed, user: 'other', servers: [323] })).toBeNull();
  expect(overlaps!(listed, { ...listed, user: 'other', servers: [322] })).toBe('namePrefix');
  expect(overlaps!(listed, { ...listed, servers: [323] })).toBe('namePrefix');
  expect(overlaps!(one, { ...one, namePrefix: 'b-' })).toBe('freePrefix');
  expect(overlaps!(one, { ...one, namePrefix: 'b-', freePrefix: 'g-' })).toBeNull();
});
