import { expect, test } from 'vitest';
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
  ['an address that is none', 'ssh://a'],
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
  for (const wrong of [nested, null, { ...machine('a'), id: nested }, { availability: 'x' }]) {
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

test('A5: a tag that is a list is no text', async () => {
  const wrong = { ...machine('a'), tags: { role: ['web'] } };
  expect(await seen([wrong])).toMatchObject({ ids: [], unreadable: ['a'] });
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
