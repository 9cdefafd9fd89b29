import { expect, test } from 'vitest';
import type { DriverMachine } from '../../../../src/adapters/provider/port.ts';
import { fleetOf, live, machine, scripted } from '../../../doubles/scripted-driver.ts';

const listing = (...machines: unknown[]) =>
  scripted({ listMachines: async () => ({ machines: machines as never, complete: true }) });

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
  ['a tag of it', { tags: { a: 'b\0' } }],
  ['a tag of it', { tags: { 'a\ud800': 'b' } }],
])(
  'an entry is dropped, with an alarm, and the listing incomplete if it has no name: %s %o',
  async (fault, change) => {
    const { fleet, log } = fleetOf(listing(machine('b'), { ...machine('a'), ...change }));
    const { machines, complete } = await fleet.listMachines(live);
    expect([machines.map(({ id }) => id), complete]).toEqual([['b'], !('id' in change)]);
    expect(log.lines.filter(({ level }) => level === 'error')).toMatchObject([
      { fields: { dropped: 1, faults: [expect.stringContaining(fault)] } },
    ]);
  },
);

test.each([null, undefined, 7, 'a', [machine('a')]])('an entry may not be %o', async (entry) => {
  const { fleet } = fleetOf(listing(entry, machine('b')));
  const { machines, complete } = await fleet.listMachines(live);
  expect([machines.map(({ id }) => id), complete]).toEqual([['b'], false]);
});

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
  const { fleet, log } = fleetOf(listing(...wrong));
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
    const { fleet } = fleetOf(listing(machine('a', { remoteUser })));
    expect((await fleet.listMachines(live)).machines).toMatchObject([{ remoteUser }]);
  },
);
