import { expect, test } from 'vitest';
import type { DriverMachine } from '../../../../src/adapters/provider/port.ts';
import { witness } from '../../../../src/domain/ids.ts';
import {
  fleetOf,
  free,
  live,
  machine,
  scripted,
  WITNESS,
} from '../../../doubles/scripted-driver.ts';

const listing = (machines: readonly unknown[], unreadable?: readonly unknown[]) =>
  scripted({
    listMachines: async () =>
      ({ machines, complete: true, ...(unreadable && { unreadable }) }) as never,
  });

test.each<[string, { readonly [Key in keyof DriverMachine]?: unknown }]>([
  ['its availability is none', { availability: undefined }],
  ['it is in use and has no id', { id: null }],
  ['its id is not 1 to 128', { id: 'invalid' }],
  ['its id is not 1 to 128', { id: 'x'.repeat(129) }],
  ['its id is not 1 to 128', { id: undefined }],
  ['its reservationId is not', { reservationId: 'two\nlines' }],
  ['its reservationId is not', { reservationId: undefined }],
  ['it has neither id nor', { availability: 'KnownUnused', id: null, reservationId: null }],
  ['its address is no host', { address: 'ssh://a' }],
  ['its address is no host', { address: 12_345 }],
  ['its address is no host', { address: 'a:99999' }],
  ['its address is no host', { address: '[::1]:0' }],
  ['its address is no host', { address: '-oProxyCommand=x' }],
  ['its address is no host', { address: 'a\0b' }],
  ['its status is none', { status: 'Fine' }],
  ['its power is none', { power: 'maybe' }],
  ['its plan is no text', { plan: undefined }],
  ['its plan is no text', { plan: 'a\0' }],
  ['its hostname is no text', { hostname: 'a\0' }],
  ['its hostname is no text', { hostname: {} }],
  ['its location is no text', { location: 'a\0' }],
  ['its remoteUser is no name', { remoteUser: 5 }],
  ['its remoteUser is no name', { remoteUser: '-oProxyCommand=x' }],
  ['its remoteUser is no name', { remoteUser: '' }],
  ['its hostKey is no base64', { hostKey: 7 }],
  ['its hostKey is no base64', { hostKey: 'ssh-rsa AAAA' }],
  ['its failed is neither', { failed: 'yes' }],
  ['its spot is neither', { spot: 1 }],
  ['its tags are no object', { tags: null }],
  ['its tags are no object', { tags: 'abc' }],
  ['its tags are no object', { tags: ['abc'] }],
  ['a tag of it', { tags: { a: 1 } }],
  ['a tag of it', { tags: { a: ['b'] } }],
  ['a tag of it', { tags: { a: 'b\0' } }],
  ['a tag of it', { tags: { 'a\ud800': 'b' } }],
])(
  'an entry is dropped, with an alarm, and the listing incomplete if it has no name: %s %o',
  async (fault, change) => {
    const { fleet, log } = fleetOf(listing([machine('b'), { ...machine('a'), ...change }]));
    const { machines, complete } = await fleet.listMachines(live);
    expect([machines.map(({ id }) => id), complete]).toEqual([['b'], !('id' in change)]);
    expect(log.lines.filter(({ level }) => level === 'error')).toMatchObject([
      { fields: { dropped: 1, faults: [expect.stringContaining(fault)] } },
    ]);
  },
);

test.each([null, {}, { machines: {}, complete: true }])(
  'a listing may not be %o',
  async (answer) => {
    const { fleet } = fleetOf(scripted({ listMachines: async () => answer as never }));
    await expect(fleet.listMachines(live)).rejects.toMatchObject({
      kind: 'permanent',
      message: expect.stringContaining('no listing'),
    });
  },
);

test('of very many faults one line tells the number and a few', async () => {
  const wrong = Array.from({ length: 50 }, (_, n) => machine(`m${n}`, { address: 'ssh://a' }));
  const { fleet, log } = fleetOf(listing(wrong));
  await fleet.listMachines(live);
  const [line, ...more] = log.lines.filter(({ level }) => level === 'error');
  expect(more).toEqual([]);
  expect(line?.fields).toMatchObject({ provider: 'rack', dropped: 50 });
  expect(line?.fields['faults']).toHaveLength(5);
  expect(line?.fields['faults']).toContainEqual(expect.stringMatching(/^m0: its address is/));
});

test.each(['admin', 'ec2-user', 'a.b', 'user@example.net', 'EXAMPLE\\admin', 'host$'])(
  'a user may be %s',
  async (remoteUser) => {
    const { fleet } = fleetOf(listing([machine('a', { remoteUser })]));
    expect((await fleet.listMachines(live)).machines).toMatchObject([{ remoteUser }]);
  },
);

const seen = async (...answer: Parameters<typeof listing>) => {
  const { fleet } = fleetOf(listing(...answer));
  const { machines, complete, unreadable = [] } = await fleet.listMachines(live);
  return {
    ids: machines.map(({ id, reservationId }) => id ?? reservationId),
    unreadable: unreadable.map(({ id, reservationId }) => id ?? reservationId),
    complete,
  };
};
const nested = JSON.parse('['.repeat(200_000) + ']'.repeat(200_000)) as unknown;

test.each<[string, unknown]>([
  ['an object where a text should be', {}],
  ['an object without a text of its own', Object.create(null)],
  ['200 000 brackets', nested],
])('A5: an entry with %s is there, and spoils no other', async (_, address) => {
  const wrong = { ...machine('a'), address };
  expect(await seen([wrong, machine('b')])).toEqual({
    ids: ['b'],
    unreadable: ['a'],
    complete: true,
  });
});

test('A5: an entry that may be anything leaves the listing incomplete', async () => {
  const odd = [nested, { ...machine('a'), id: nested }, { availability: 'x' }];
  for (const wrong of [...odd, null, undefined, 7, 'a', [machine('a')]]) {
    expect(await seen([wrong, machine('b')])).toEqual({
      ids: ['b'],
      unreadable: [],
      complete: false,
    });
  }
});

test('A5: an entry that cannot even be looked at is unknown', async () => {
  const trap = () => {
    throw new Error('no');
  };
  const wrong = Object.defineProperty({ ...machine('a') }, 'plan', { get: trap });
  const worse = Object.defineProperty({ ...machine('c') }, 'id', { get: trap });
  expect(await seen([wrong, machine('b')])).toMatchObject({ unreadable: ['a'], complete: true });
  expect(await seen([worse, machine('b')])).toMatchObject({ unreadable: [], complete: false });
});

test('A5: free capacity that cannot be read is named by its slot', async () => {
  const wrong = { ...free('s1'), plan: 7 };
  expect(await seen([wrong, free('s2')])).toEqual({
    ids: ['s2'],
    unreadable: ['s1'],
    complete: true,
  });
});

test('A5: what a driver says that it could not read is believed as far as it has a name', async () => {
  const told = { id: 'a', reservationId: 's1', fault: 'no hostname' };
  expect(await seen([free('s1'), machine('b')], [told])).toEqual({
    ids: ['b'],
    unreadable: ['a'],
    complete: true,
  });
  for (const nameless of [{ id: null, reservationId: null, fault: '' }, null, 7]) {
    expect(await seen([machine('b')], [nameless])).toMatchObject({
      ids: ['b'],
      unreadable: [],
      complete: false,
    });
  }
});

test('A5: a witness that is not seen may be that of an entry that cannot be read', async () => {
  const { fleet } = fleetOf(listing([machine('b'), { ...machine('a'), plan: 7 }]));
  const other = witness('0b6e2222-2222-4222-8222-222222222222');
  await expect(fleet.findByWitness(other, 'slot-z', live)).rejects.toMatchObject({
    kind: 'transient',
  });
  const { fleet: clear } = fleetOf(listing([machine('b')]));
  expect(await clear.findByWitness(WITNESS, 'slot-z', live)).toBe(null);
});

test.each([undefined, 'yes', 1, null])('A5: complete that is %o is not said', async (complete) => {
  const { fleet } = fleetOf(
    scripted({ listMachines: async () => ({ machines: [], complete }) as never }),
  );
  expect(await fleet.listMachines(live)).toMatchObject({ complete: false });
});
