import { expect, test } from 'vitest';
import { serverList } from '../../../../src/adapters/provider/hetzner-robot/api.ts';
import { addressOf } from '../../../../src/adapters/provider/hetzner-robot/mapping.ts';
import {
  DISPUTED,
  SET_ID_TAG,
  WITNESS_TAG,
} from '../../../../src/domain/provisioning/provider-tags.ts';
import { md5OfLine } from '../../../../src/adapters/provider/hetzner-robot/systems.ts';
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
