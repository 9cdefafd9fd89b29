import { expect, test } from 'vitest';
import type { DriverListing, DriverMachine } from '../../../../src/adapters/provider/port.ts';
import { witness } from '../../../../src/domain/ids.ts';
import {
  fleetOf,
  free,
  live,
  machine,
  scripted,
  WITNESS,
} from '../../../doubles/scripted-driver.ts';

const listing = (
  machines: readonly DriverMachine[],
  unreadable: DriverListing['unreadable'] = [],
) => scripted({ listMachines: async () => ({ machines, complete: true, unreadable }) });

test.each<[string, Partial<DriverMachine>]>([
  ['it is in use and has no id', { id: null }],
  ['its id is not 1 to 128', { id: 'invalid' }],
  ['its id is not 1 to 128', { id: 'x'.repeat(129) }],
  ['its reservationId is not', { reservationId: 'two\nlines' }],
  ['it has neither id nor', { availability: 'KnownUnused', id: null, reservationId: null }],
  ['its address is no host', { address: 'ssh://a' }],
  ['its address is no host', { address: 'a:99999' }],
  ['its address is no host', { address: '[::1]:0' }],
  ['its address is no host', { address: '-oProxyCommand=x' }],
  ['its address is no host', { address: 'a\0b' }],
  ['its plan is no text', { plan: 'a\0' }],
  ['its hostname is no text', { hostname: 'a\0' }],
  ['its location is no text', { location: 'a\0' }],
  ['its remoteUser is no name', { remoteUser: '-oProxyCommand=x' }],
  ['its remoteUser is no name', { remoteUser: '' }],
  ['its hostKey is no base64', { hostKey: 'ssh-rsa AAAA' }],
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

test('A5: an entry that may be anything leaves the listing incomplete, and spoils no other', async () => {
  expect(await seen([machine('two\nlines'), machine('b')])).toEqual({
    ids: ['b'],
    unreadable: [],
    complete: false,
  });
});

test('A5: free capacity that cannot be read is named by its slot', async () => {
  const wrong = { ...free('s1'), plan: 'a\0' };
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
  expect(await seen([machine('b')], [{ id: null, reservationId: null, fault: '' }])).toMatchObject({
    ids: ['b'],
    unreadable: [],
    complete: false,
  });
});

test('A5: a witness that is not seen may be that of an entry that cannot be read', async () => {
  const { fleet } = fleetOf(listing([machine('b'), machine('a', { plan: 'a\0' })]));
  const other = witness('0b6e2222-2222-4222-8222-222222222222');
  await expect(fleet.findByWitness(other, 'slot-z', live)).rejects.toMatchObject({
    kind: 'transient',
  });
  const { fleet: clear } = fleetOf(listing([machine('b')]));
  expect(await clear.findByWitness(WITNESS, 'slot-z', live)).toBe(null);
});
