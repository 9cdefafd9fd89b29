import { expect } from 'vitest';
import type { FaultKind } from '../../../../src/adapters/provider/stub/fault-kinds.ts';
import type { ProviderError } from '../../../../src/domain/errors.ts';
import { facetsOf } from '../../../../src/domain/provisioning/provider-facets.ts';
import { SET_ID_TAG } from '../../../../src/domain/provisioning/provider-tags.ts';
import type { Proof } from './proofs-calls.ts';
import { createStubStand, errorOf } from './stand.ts';

const idsOf = (machines: readonly { id: string | null }[]) => machines.map(({ id }) => id);
const idsAt = (machines: readonly { id: string | null; reservationId: string | null }[]) =>
  machines.map(({ id, reservationId }) => id ?? reservationId);

/** What the account may have, and what its listings show. */
export const listingProofs = {
  async 'create-gap'() {
    const stand = createStubStand([{ fault: 'create-gap', amount: 30_000 }]);
    await stand.create();
    stand.clock.increment(10_000);
    const error = await errorOf(stand.create());
    // An HTTP date counts whole seconds.
    expect(facetsOf(error).retryAtMs).toBe(stand.clock.now() + 20_000);
    stand.clock.increment(20_000);
    await stand.create();
    expect(stand.account.world.devices()).toHaveLength(2);
    return stand;
  },
  async 'list-gap'() {
    const stand = createStubStand([{ fault: 'list-gap', amount: 30_000 }]);
    await stand.list();
    expect(facetsOf(await errorOf(stand.list())).retryAtMs).toBe(stand.clock.now() + 30_000);
    await stand.create();
    stand.clock.increment(30_000);
    expect(await stand.list()).toHaveLength(4);
    return stand;
  },
  async quota() {
    const stand = createStubStand([{ fault: 'quota', amount: 2 }]);
    await stand.create();
    const { id } = await stand.create();
    expect(facetsOf(await errorOf(stand.create())).quota).toBe(true);
    await stand.provider.deprovisionMachine(id!, stand.call());
    await stand.create();
    return stand;
  },
  async 'quota-changes'() {
    const stand = createStubStand([
      { fault: 'quota', amount: 2 },
      { fault: 'quota-changes', from: 2, amount: 1 },
      { fault: 'quota-changes', from: 3, amount: 3 },
    ]);
    await stand.create();
    expect(facetsOf(await errorOf(stand.create())).quota).toBe(true);
    await stand.create();
    await stand.create();
    expect(facetsOf(await errorOf(stand.create())).quota).toBe(true);
    return stand;
  },
  async capacity() {
    const stand = createStubStand([
      { fault: 'capacity', calls: [1], scope: 'plan' },
      { fault: 'capacity', calls: [2] },
    ]);
    expect(await errorOf(stand.create())).toMatchObject({ capacity: { scope: 'plan' } });
    expect(facetsOf(await errorOf(stand.create())).capacity).toBe('all');
    await stand.create();
    return stand;
  },
  async 'capacity-wrapped'() {
    const stand = createStubStand([{ fault: 'capacity-wrapped', scope: 'group' }]);
    const error = await errorOf(stand.create());
    expect((error as ProviderError).capacity).toBeUndefined();
    expect(facetsOf(error).capacity).toBe('group');
    return stand;
  },
  async 'capacity-changes'() {
    const stand = createStubStand([
      { fault: 'capacity-changes', from: 2, amount: 1 },
      { fault: 'capacity-changes', from: 4, amount: 9 },
    ]);
    const slots = stand.account.world.slots().map(({ id }) => id);
    expect(await stand.list()).toHaveLength(4);
    await stand.create({ reservationId: slots[0]! });
    expect(idsAt(await stand.list()).slice(1)).toEqual([slots[1]]);
    const error = await errorOf(stand.create({ reservationId: slots[2]! }));
    expect(facetsOf(error).capacity).toBe('plan');
    await stand.create({ reservationId: slots[1]! });
    await stand.create({ reservationId: slots[2]! });
    return stand;
  },
  async 'list-lag'() {
    const stand = createStubStand([{ fault: 'list-lag', amount: 3 }]);
    const { id } = await stand.create();
    for (let at = 1; at <= 3; at += 1) expect(idsOf(await stand.list())).not.toContain(id);
    expect(idsOf(await stand.list())).toContain(id);
    await stand.provider.deprovisionMachine(id!, stand.call());
    for (let at = 1; at <= 3; at += 1) expect(idsOf(await stand.list())).toContain(id);
    expect(idsOf(await stand.list())).not.toContain(id);
    return stand;
  },
  async 'partial-page'() {
    const stand = createStubStand([{ fault: 'partial-page', amount: 1, times: 1 }]);
    const partial = await stand.provider.listMachines({}, stand.call());
    expect([partial.machines.length, partial.complete]).toEqual([2, false]);
    const whole = await stand.provider.listMachines({}, stand.call());
    expect([whole.machines.length, whole.complete]).toEqual([4, true]);
    return stand;
  },
  async 'page-fails'() {
    const stand = createStubStand([{ fault: 'page-fails', times: 1 }]);
    expect(await errorOf(stand.list())).toMatchObject({ code: 'transient' });
    expect(await stand.list()).toHaveLength(4);
    return stand;
  },
  async duplicates() {
    const stand = createStubStand([{ fault: 'duplicates' }]);
    const id = await stand.running();
    const twice = (await stand.list()).filter((machine) => machine.id === id);
    expect(twice).toHaveLength(2);
    expect(twice[0]).not.toEqual(twice[1]);
    expect(twice[1]).toEqual(await stand.get(id));
    return stand;
  },
  async reordering() {
    const stand = createStubStand([{ fault: 'reordering', from: 2 }], {
      plans: [{ name: 'c3', location: 'm1', spot: false, reservations: 20 }],
    });
    const before = idsAt(await stand.list());
    const after = idsAt(await stand.list());
    expect(after).not.toEqual(before);
    expect(after.toSorted()).toEqual(before.toSorted());
    return stand;
  },
  async disappears() {
    const stand = createStubStand([{ fault: 'disappears', calls: [2] }]);
    const id = await stand.running();
    expect(idsOf(await stand.list())).toContain(id);
    const without = await stand.provider.listMachines({}, stand.call());
    expect([idsOf(without.machines).includes(id), without.complete]).toEqual([false, true]);
    expect(idsOf(await stand.list())).toContain(id);
    expect(await stand.get(id)).toMatchObject({ id });
    return stand;
  },
  async 'vanish-all'() {
    const stand = createStubStand([{ fault: 'vanish-all', times: 1 }]);
    await stand.running();
    const nothing = await stand.provider.listMachines({}, stand.call());
    expect(nothing).toEqual({ machines: [], complete: true });
    expect(await stand.list()).toHaveLength(4);
    return stand;
  },
  async 'foreign-machines'() {
    const stand = createStubStand([{ fault: 'foreign-machines', amount: 2 }]);
    const strangers = (await stand.list()).filter(({ plan }) => plan === 'stranger');
    expect(strangers.map(({ tags }) => tags?.[SET_ID_TAG])).toEqual([
      'strng-strng-strngstrngstrng',
      undefined,
    ]);
    return stand;
  },
  async 'availability-undefined'() {
    const stand = createStubStand([{ fault: 'availability-undefined' }]);
    const silent = (await stand.list()).filter(({ availability }) => availability === undefined);
    expect(silent).toHaveLength(1);
    return stand;
  },
  async 'not-provisionable'() {
    const stand = createStubStand([{ fault: 'not-provisionable', times: 1 }]);
    const [first] = stand.account.world.slots();
    expect(idsAt(await stand.list())).not.toContain(first!.id);
    expect(await stand.list()).toHaveLength(3);
    const error = await errorOf(stand.create({ reservationId: first!.id }));
    expect(error).toMatchObject({ code: 'invalid' });
    return stand;
  },
} as const satisfies Partial<Readonly<Record<FaultKind, Proof>>>;
