import { describe, expect, test } from 'vitest';
import type { DriverListing, Provider } from '../../../src/adapters/provider/port.ts';
import { ProviderError } from '../../../src/domain/errors.ts';
import { fleetOf, free, live, machine, order, scripted } from '../../doubles/scripted-driver.ts';
import { createSimulatedClock, settled } from '../../doubles/simulated-clock.ts';

const getMachine: Provider['getMachine'] = () =>
  Promise.reject(new ProviderError('not-found', 'default backend'));
const complete = (...machines: DriverListing['machines']): DriverListing => ({
  machines,
  complete: true,
});
const lists = (answer: () => DriverListing | Promise<DriverListing>, more: object = {}) =>
  scripted({ getMachine, listMachines: async () => answer(), ...more });

test.each<[string, () => DriverListing, RegExp]>([
  ['shows it', () => complete(machine('a')), /the listing shows it/],
  ['has it unreadable', () => complete(machine('a', { plan: 'a\0' })), /unreadable/],
  ['is incomplete', () => ({ machines: [], complete: false }), /incomplete/],
  [
    'fails',
    () => {
      throw new ProviderError('transient', 'no route');
    },
    /no listing confirms it .*no route/,
  ],
])('A2: does not treat a machine as gone while the listing %s', async (_, listing, why) => {
  const { fleet } = fleetOf(lists(listing));
  const acts = [
    fleet.getMachine('a', live),
    fleet.deprovisionMachine('a', live),
    fleet.rebootMachine('a', 'force', live),
  ];
  for (const act of acts) {
    const error = await act.then(
      () => null,
      (thrown: unknown) => thrown,
    );
    expect(error).toMatchObject({ kind: 'transient', message: expect.stringMatching(why) });
    expect(error).toMatchObject({ message: expect.stringContaining('proxy may have answered') });
  }
});

test('A2: treats a machine as gone when a complete listing agrees', async () => {
  const { fleet } = fleetOf(lists(() => complete(machine('b'))));
  await expect(fleet.getMachine('a', live)).rejects.toMatchObject({ kind: 'not-found' });
  await fleet.deprovisionMachine('a', live);
});

test('A2: treats a machine as gone when the listing shows it as leaving', async () => {
  const { fleet } = fleetOf(lists(() => complete(machine('a', { status: 'Missing' }))));
  await expect(fleet.getMachine('a', live)).rejects.toMatchObject({ kind: 'not-found' });
});

test('A2: loses no machine of an inventory by a "not found" answer', async () => {
  const capabilities = { ...scripted().capabilities, create: false, deprovision: false };
  const there = machine('a', { availability: 'PossiblyUsed', reservationId: null });
  const { fleet } = fleetOf(lists(() => complete(there), { capabilities }));
  const [unused] = (await fleet.listMachines(live)).machines;
  const taken = fleet.createMachine(order({ unused: unused! }), live);
  await expect(taken).rejects.toMatchObject({ kind: 'transient' });
  await expect(fleet.findByWitness(order().witness, 'a', live)).rejects.toMatchObject({
    kind: 'transient',
  });
});

test('A2: answers for many machines from one listing while it is fresh', async () => {
  const clock = createSimulatedClock();
  let asked = 0;
  const driver = lists(() => complete(machine(`only-${++asked}`)));
  const { fleet } = fleetOf(driver, {}, { clock });
  const gone = (id: string) => expect(fleet.getMachine(id, live)).rejects;
  await Promise.all(['a', 'b', 'c'].map((id) => gone(id).toMatchObject({ kind: 'not-found' })));
  expect(asked).toBe(1);
  await gone('only-1').toMatchObject({ kind: 'transient' });
  expect(asked).toBe(1);
  clock.increment(30_000);
  // This contradicts the answer, and so justifies another listing.
  await gone('only-1').toMatchObject({ kind: 'not-found' });
  expect(asked).toBe(2);
  clock.increment(61_000);
  await gone('a').toMatchObject({ kind: 'not-found' });
  expect(asked).toBe(3);
});

test('A2: continues a listing that takes longer than the look, and uses it for the next look', async () => {
  const clock = createSimulatedClock();
  const listing = Promise.withResolvers<DriverListing>();
  let asked = 0;
  const { fleet } = fleetOf(
    lists(() => {
      asked += 1;
      return listing.promise;
    }),
    {},
    { clock },
  );
  const first = fleet.getMachine('a', { ...live, timeoutMs: 1_000 });
  const late = expect(first).rejects.toMatchObject({
    kind: 'transient',
    message: expect.stringContaining('no listing arrived in time'),
  });
  await settled();
  expect(asked).toBe(1);
  clock.increment(1_000);
  await late;
  listing.resolve(complete());
  await expect(fleet.getMachine('a', live)).rejects.toMatchObject({ kind: 'not-found' });
  expect(asked).toBe(1);
});

test('A2: does not use an older listing as proof against a later creation', async () => {
  const made = machine('new', { reservationId: 'slot-1' });
  const answers = [complete(), complete(made)];
  const driver = lists(() => answers.shift()!, { createMachine: async () => made });
  const { fleet } = fleetOf(driver);
  await fleet.listMachines(live);
  await fleet.createMachine(order(), live);
  await expect(fleet.getMachine('new', live)).rejects.toMatchObject({ kind: 'transient' });
});

test('A2: does not use a listing that began before the creation and ended after it', async () => {
  const made = machine('new', { reservationId: 'slot-1' });
  const before = Promise.withResolvers<DriverListing>();
  const answers = [before.promise, complete(made)];
  const driver = lists(() => answers.shift()!, { createMachine: async () => made });
  const { fleet } = fleetOf(driver);
  const listing = fleet.listMachines(live);
  await fleet.createMachine(order(), live);
  before.resolve(complete());
  await listing;
  await expect(fleet.getMachine('new', live)).rejects.toMatchObject({
    kind: 'transient',
    message: expect.stringContaining('the listing shows it'),
  });
});

describe('A2: does not treat a machine as gone while a nameless entry makes every listing incomplete', () => {
  const nameless = machine('two\nlines');
  const gone = { ...live, reservationId: 'slot-a' };

  test('treats a machine as gone when its reservation is listed as free', async () => {
    const { fleet } = fleetOf(lists(() => complete(free('slot-a'), nameless)));
    await expect(fleet.getMachine('a', gone)).rejects.toMatchObject({ kind: 'not-found' });
    await fleet.deprovisionMachine('a', gone);
  });

  test.each<[string, Partial<typeof gone>, DriverListing]>([
    ['another is free', {}, complete(free('slot-b'), nameless)],
    [
      'neither it nor what is free has one',
      { reservationId: null as never },
      complete({ ...free('slot-a'), id: 'spare', reservationId: null }, nameless),
    ],
    ['none is known', { reservationId: null as never }, complete(free('slot-a'), nameless)],
    [
      'another device stands on it',
      {},
      complete(free('slot-a'), machine('b', { reservationId: 'slot-a' }), nameless),
    ],
  ])('does not treat a machine as gone when %s', async (_, change, listing) => {
    const { fleet } = fleetOf(lists(() => listing));
    const call = { ...gone, ...change };
    const doubt = { kind: 'transient', message: expect.stringContaining('incomplete') };
    await expect(fleet.getMachine('a', call)).rejects.toMatchObject(doubt);
    await expect(fleet.deprovisionMachine('a', call)).rejects.toMatchObject(doubt);
  });
});
