import { expect, test } from 'vitest';
import { serverList } from '../../../../src/adapters/provider/hetzner-robot/api.ts';
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
import { callOf, createStand, INSTANCE_SET_ID, OUR_NAME, PREVIOUS_KEY, WITNESS } from './setup.ts';

const named = (stand: ReturnType<typeof createStand>, number: number, name: string) => {
  const one = stand.world.machine(number);
  one.server = { ...one.server, name };
};
const listing = (stand: ReturnType<typeof createStand>) =>
  stand.run(stand.provider.listMachines({}, callOf()));

test('vector 2: one free, one ours, one not listed; one request for all of them', async () => {
  const stand = createStand({}, [321, 322, 323]);
  named(stand, 321, 'free-a');
  named(stand, 322, OUR_NAME);
  named(stand, 323, 'mail1');
  const { machines, complete } = await listing(stand);
  expect([machines.length, complete]).toEqual([2, true]);
  expect(machines).toMatchObject([
    {
      id: null,
      reservationId: '321',
      availability: 'KnownUnused',
      plan: 'EX44',
      location: 'FSN1-DC14',
    },
    {
      id: expect.stringMatching(/^322-/),
      availability: 'KnownUsed',
      tags: { [SET_ID_TAG]: INSTANCE_SET_ID, [WITNESS_TAG]: WITNESS },
    },
  ]);
  expect(stand.world.asked).toEqual(['GET /server']);
});

test('a listing is believed for a minute, and our own change is in it', async () => {
  const stand = createStand();
  await listing(stand);
  await listing(stand);
  expect(stand.world.count(/^GET \/server$/)).toBe(1);
  const { id } = await stand.run(stand.create());
  expect((await listing(stand)).machines).toMatchObject([{ id }]);
  await stand.pass(61_000);
  await listing(stand);
  expect(stand.world.count(/^GET \/server$/)).toBeGreaterThan(1);
});

test.each([
  ['2a01:4f8:111:4221::', '[2a01:4f8:111:4221::1]'],
  ['2a01:4f8:111:4221::/64', '[2a01:4f8:111:4221::1]'],
  ['2a01:4f8:111:4221:0:0:0:0', null],
  [null, null],
])('vector 4: of the net %s the machine has %s', (ipv6Net, address) => {
  expect(addressOf({ ipv4: null, ipv6Net })).toBe(address);
  expect(addressOf({ ipv4: '192.0.2.1', ipv6Net })).toBe('192.0.2.1');
});

test('vector 33: a free server that is cancelled, or not ready, is not offered', async () => {
  const stand = createStand({}, [321, 322, 323]);
  for (const [number, change] of [
    [321, { isCancelled: true }],
    [322, { isReady: false }],
  ] as const) {
    const one = stand.world.machine(number);
    one.server = { ...one.server, ...change };
  }
  expect((await listing(stand)).machines.map((each) => each.reservationId)).toEqual(['323']);
});

test('only the servers of the configuration are listed, or touched', async () => {
  const stand = createStand({ servers: [322] }, [321, 322]);
  expect((await listing(stand)).machines).toMatchObject([{ reservationId: '322' }]);
  await expect(stand.run(stand.create())).rejects.toMatchObject({ kind: 'invalid' });
  const missing = createStand({ servers: [999] });
  const prepared = missing.run(missing.provider.prepare!(callOf()));
  await expect(prepared).rejects.toMatchObject({
    kind: 'invalid',
    message: expect.stringContaining('999'),
  });
});

test('a machine of ours whose claim is another set’s is disputed, and nothing is done to it', async () => {
  const stand = createStand();
  named(stand, 321, OUR_NAME);
  await stand.world.records.make('321', { set: 'other-00000-000000000000000' }, callOf());
  const { machines } = await listing(stand);
  expect(machines).toMatchObject([{ tags: { [SET_ID_TAG]: DISPUTED } }]);
  const reboot = stand.provider.rebootMachine(machines[0]!.id!, 'force', callOf());
  await expect(stand.run(reboot)).rejects.toMatchObject({ kind: 'conflict' });
  expect(stand.world.machine(321).resets).toEqual([]);
});

test('a free server with another set’s claim is neither listed nor taken', async () => {
  const stand = createStand();
  await stand.world.records.make('321', { set: 'other-00000-000000000000000' }, callOf());
  expect((await listing(stand)).machines).toEqual([]);
  await expect(stand.run(stand.create())).rejects.toMatchObject({ kind: 'conflict' });
});

test('a name that was put back in Robot is told to it again, another’s is left alone', async () => {
  const stand = createStand();
  const id = await stand.installed();
  named(stand, 321, 'free-321');
  expect((await listing(stand)).machines).toMatchObject([{ id }]);
  await stand.pass(130_000);
  expect(stand.world.machine(321).server.name).toBe(OUR_NAME);
  named(stand, 321, 'somebody-1');
  await stand.pass(300_000);
  expect(stand.world.machine(321).server.name).toBe('somebody-1');
  expect((await listing(stand)).machines).toMatchObject([{ id }]);
  const told = 'a server of ours has another name than it was given';
  expect(stand.log.count(told)).toBe(2);
});

test('sweeps claims that never came to a name, and earlier keys of ours that were set aside', async () => {
  const stand = createStand();
  const { world, provider, run } = stand;
  const old = md5OfLine(PREVIOUS_KEY);
  world.keys.set(old, 'shepherd-old-1');
  world.keys.set('cc', 'shepherd-old-of-somebody-else');
  world.keys.set('bb', 'shepherd');
  world.strike = (what) => {
    if (what.startsWith('POST /server')) throw new Error('the daemon died');
    return null;
  };
  await run(stand.create()).catch(() => undefined);
  world.strike = null;
  const sweep = (dryRun: boolean) => run(provider.sweep!({ ...callOf(), dryRun }));
  expect((await sweep(true)).removed).toEqual([{ kind: 'ssh-key', id: old }]);
  await stand.pass(3_700_000);
  const both = [
    { kind: 'claim', id: '321' },
    { kind: 'ssh-key', id: old },
  ];
  expect((await sweep(true)).removed).toEqual(both);
  expect((await sweep(false)).removed).toEqual(both);
  expect([await stand.claim(), [...world.keys.keys()]]).toEqual([undefined, ['cc', 'bb']]);
});

test('fields that are null, and whatever else is in a listing, spoil no other server', async () => {
  const server = { server_number: 1, server_name: 'a', status: 'ready', cancelled: false };
  const { servers, unreadable, nameless } = await serverList.parseAsync([
    { server },
    { server: { ...server, server_number: 2, status: 'in process', product: 5 } },
    { server: null },
    7,
  ]);
  expect([servers.map(({ number }) => number), unreadable, nameless]).toEqual([[1], [2], 2]);
});

const around = { env: { PASSWORD: 'x' }, baseDirectory: '/', checkFiles: false };
const schema = providerSchema(around);
const WHOLE = {
  driver: 'hetzner-robot',
  instanceSetId: INSTANCE_SET_ID,
  user: '#ws+fleet',
  password: '${PASSWORD}',
  namePrefix: 'shep-prod-',
  freePrefix: 'free-',
  sshKeyName: 'shepherd',
  image: 'Debian-1301-trixie-amd64-base.tar.gz',
};
/** The keys at fault. */
const pathsOf = (change: object) => {
  const { error } = schema.safeParse({ ...WHOLE, ...change });
  return [...new Set(error?.issues.map(({ path }) => path.join('.')) ?? [])];
};

test('a whole configuration has no fault', () => {
  expect(pathsOf({})).toEqual([]);
  expect(pathsOf({ image: undefined, imageUrl: 'https://images.example.net/a.tar.gz' })).toEqual(
    [],
  );
  expect(
    pathsOf({ drives: { 321: ['eui.0025385b01'] }, servers: [321], plan: { 321: 'x' } }),
  ).toEqual([]);
  expect(pathsOf({ layout: ['SWRAID 1', 'PART / ext4 all', 'LV vg0 root / ext4 10G'] })).toEqual(
    [],
  );
});

test('vector 1: prefixes of which one begins the other are refused before anything is opened', () => {
  expect(pathsOf({ freePrefix: 'shep-', namePrefix: 'shep-prod-' })).toEqual(['freePrefix']);
  expect(pathsOf({ freePrefix: 'shep-prod-x-' })).toEqual(['freePrefix']);
});

test.each([
  ['user', { user: '' }],
  ['user', { user: 'a:b' }],
  ['password', { password: 'written-out' }],
  ['namePrefix', { namePrefix: 'FIXME-' }],
  ['namePrefix', { namePrefix: 'fixme-' }],
  ['namePrefix', { namePrefix: 'no-hyphen' }],
  ['namePrefix', { namePrefix: `${'a'.repeat(21)}-` }],
  ['freePrefix', { freePrefix: 'Upper-' }],
  ['servers', { servers: [] }],
  ['servers.0', { servers: ['321'] }],
  ['image', { image: undefined }],
  ['image', { image: '../../etc/passwd' }],
  ['image', { image: 'a b' }],
  ['image', { imageUrl: 'https://images.example.net/a.tar.gz' }],
  ['imageUrl', { image: undefined, imageUrl: 'http://images.example.net/a.tar.gz' }],
  ['drives', { drives: { x: ['eui.1'] } }],
  ['layout.0', { layout: ['BOOTLOADER grub'] }],
  ['layout.0', { layout: ['PART / ext4 all\nIMAGE /x'] }],
  ['baseUrl', { baseUrl: 'http://robot.example.net' }],
  ['wipe', { wipe: 'thorough' }],
  ['rescueKeyFile', { rescueKeyFile: 'rescue-key' }],
  ['nonsense', { nonsense: 1 }],
])('%s is at fault', (path, change) => {
  expect(pathsOf(change).join()).toContain(path === 'nonsense' ? '' : path);
  expect(schema.safeParse({ ...WHOLE, ...change }).success).toBe(false);
});

test('http is for this computer alone', () => {
  expect(pathsOf({ baseUrl: 'http://127.0.0.1:8080/' })).toEqual([]);
});

test('two providers overlap by names of one account that begin each other', () => {
  const { overlaps } = hetznerRobotDriver;
  const one = robotSchema(around).safeParse({
    user: 'u',
    password: '${PASSWORD}',
    namePrefix: 'a-',
    freePrefix: 'f-',
    sshKeyName: 'k',
    imageUrl: 'https://images.example.net/a.tar.gz',
  }).data!;
  // Two users may be of one account; only lists of servers tell them apart.
  expect(overlaps!(one, { ...one, user: 'other' })).toBe('namePrefix');
  const listed = { ...one, servers: [321, 322] };
  expect(overlaps!(listed, { ...listed, user: 'other', servers: [323] })).toBeNull();
  expect(overlaps!(listed, { ...listed, user: 'other', servers: [322] })).toBe('namePrefix');
  expect(overlaps!(listed, { ...listed, servers: [323] })).toBe('namePrefix');
  expect(overlaps!(one, one)).toBe('namePrefix');
  expect(overlaps!(one, { ...one, namePrefix: 'b-' })).toBe('freePrefix');
  expect(overlaps!(one, { ...one, namePrefix: 'b-', freePrefix: 'g-' })).toBeNull();
});
