import { expect } from 'vitest';
import type { FaultKind } from '../../../../src/adapters/provider/stub/fault-kinds.ts';
import { IDLE_TAG, SET_ID_TAG } from '../../../../src/domain/provisioning/provider-tags.ts';
import type { Proof } from './proofs-calls.ts';
import {
  BOOT_MS,
  createStubStand,
  errorOf,
  initCommand,
  PROVISIONING_MS,
  SET_ID,
  type StubStand,
} from './stand.ts';

const HOUR_MS = 3_600_000;
const bootIdOf = ({ account }: StubStand, id: string) => account.world.device(id)!.bootId;
const reinstall = ({ provider, call }: StubStand, id: string) => {
  const request = { image: null, tags: { again: 'yes' }, publicKey: '' };
  return provider.reinstallMachine(id, { ...request, initCommand: initCommand() }, call());
};
const destroy = ({ provider, call }: StubStand, id: string) =>
  provider.deprovisionMachine(id, call());
const isListed = async (stand: StubStand, id: string) =>
  (await stand.list()).some((machine) => machine.id === id);

/** A device from its creation to its end. */
export const deviceProofs = {
  async 'reused-id'() {
    const stand = createStubStand([{ fault: 'reused-id' }]);
    const first = await stand.create();
    const second = await stand.create();
    expect(second.id).not.toBe(first.id);
    await destroy(stand, first.id!);
    const third = await stand.create();
    expect(third.id).toBe(first.id);
    return stand;
  },
  async 'create-stuck'() {
    const stand = createStubStand([{ fault: 'create-stuck', calls: [1] }]);
    const [stuck, other] = [await stand.create(), await stand.create()];
    stand.clock.increment(100 * HOUR_MS);
    expect(await stand.get(stuck.id!)).toMatchObject({ status: 'Provisioning', address: null });
    expect(await stand.get(other.id!)).toMatchObject({ status: 'Running' });
    return stand;
  },
  async 'failed-at-create'() {
    const stand = createStubStand([{ fault: 'failed-at-create' }]);
    const broken = { failed: true, status: 'ProvisioningFailedPermanent' };
    const created = await stand.create();
    expect(created).toMatchObject(broken);
    stand.clock.increment(HOUR_MS);
    expect(await stand.get(created.id!)).toMatchObject(broken);
    return stand;
  },
  async 'failed-at-boot'() {
    const stand = createStubStand([{ fault: 'failed-at-boot', times: 1 }]);
    const { id, failed } = await stand.create();
    expect(failed).toBe(false);
    stand.clock.increment(PROVISIONING_MS);
    expect(await stand.get(id!)).toMatchObject({ failed: true });
    await reinstall(stand, id!);
    stand.clock.increment(PROVISIONING_MS);
    expect(await stand.get(id!)).toMatchObject({ failed: false, status: 'Running' });
    return stand;
  },
  async 'failed-while-running'() {
    const stand = createStubStand([{ fault: 'failed-while-running', amount: 5_000 }]);
    const id = await stand.running();
    stand.clock.increment(4_999);
    expect(await stand.get(id)).toMatchObject({ failed: false });
    stand.clock.increment(1);
    expect(await stand.get(id)).toMatchObject({ failed: true, status: 'Running' });
    return stand;
  },
  async 'id-absent'() {
    const stand = createStubStand([{ fault: 'id-absent', calls: [1] }], {
      inventory: { publicKey: '', tags: {} },
    });
    const slots = stand.account.world.slots().map(({ id }) => id);
    const [first, second] = await stand.list();
    expect(first).toMatchObject({ id: null, reservationId: slots[0] });
    expect(second).toMatchObject({ id: slots[1], availability: 'PossiblyUsed' });
    return stand;
  },
  async 'address-absent'() {
    const stand = createStubStand([
      { fault: 'address-absent', calls: [1] },
      { fault: 'address-absent', calls: [2], amount: 600_000 },
    ]);
    const [never, late] = [await stand.running(), await stand.running()];
    stand.clock.increment(599_999);
    expect(await stand.get(late)).toMatchObject({ status: 'Running', address: null });
    stand.clock.increment(1);
    expect((await stand.get(late)).address).toMatch(/./);
    stand.clock.increment(100 * HOUR_MS);
    expect((await stand.get(never)).address).toBeNull();
    return stand;
  },
  async 'address-changing'() {
    const stand = createStubStand([{ fault: 'address-changing', amount: 60_000 }]);
    const id = await stand.running();
    const addresses = [];
    for (let at = 0; at < 3; at += 1) {
      addresses.push((await stand.get(id)).address);
      expect((await stand.get(id)).address).toBe(addresses.at(-1));
      stand.clock.increment(60_000);
    }
    expect(new Set(addresses).size).toBe(3);
    return stand;
  },
  async 'address-duplicated'() {
    const stand = createStubStand([{ fault: 'address-duplicated', calls: [2] }]);
    const [first, second] = [await stand.running(), await stand.running()];
    expect((await stand.get(second)).address).toBe((await stand.get(first)).address);
    return stand;
  },
  async 'address-v6-only'() {
    const stand = createStubStand([{ fault: 'address-v6-only' }]);
    expect((await stand.get(await stand.running())).address).toMatch(/^[0-9a-f:]+$/);
    return stand;
  },
  async 'tags-stale'() {
    const stand = createStubStand([{ fault: 'tags-stale', amount: 2 }]);
    const id = await stand.running();
    const { tags: before } = await stand.get(id);
    await stand.provider.setTags(id, { [SET_ID_TAG]: SET_ID, [IDLE_TAG]: 'hold' }, stand.call());
    expect((await stand.get(id)).tags).toEqual(before);
    expect((await stand.list()).find((one) => one.id === id)!.tags).toEqual(before);
    expect((await stand.get(id)).tags).toEqual({ [SET_ID_TAG]: SET_ID, [IDLE_TAG]: 'hold' });
    return stand;
  },
  async 'tags-refused'() {
    const stand = createStubStand([{ fault: 'tags-refused', times: 1 }]);
    const id = await stand.running();
    const { tags } = await stand.get(id);
    const error = await errorOf(stand.provider.setTags(id, { [IDLE_TAG]: 'hold' }, stand.call()));
    expect(error).toMatchObject({ code: 'invalid' });
    expect((await stand.get(id)).tags).toEqual(tags);
    return stand;
  },
  async 'tags-truncated'() {
    const stand = createStubStand([{ fault: 'tags-truncated', amount: 5 }]);
    const { tags } = await stand.create();
    expect(tags).toMatchObject({ [SET_ID_TAG]: SET_ID.slice(0, 5) });
    return stand;
  },
  async 'tags-lower-cased'() {
    const stand = createStubStand([{ fault: 'tags-lower-cased', operation: 'tags' }]);
    const id = await stand.running();
    await stand.provider.setTags(id, { [IDLE_TAG]: 'Hold' }, stand.call());
    expect((await stand.get(id)).tags).toEqual({ [IDLE_TAG.toLowerCase()]: 'hold' });
    return stand;
  },
  async 'reboot-ignored'() {
    const stand = createStubStand([{ fault: 'reboot-ignored', times: 1 }]);
    const id = await stand.running();
    const before = bootIdOf(stand, id);
    await stand.provider.rebootMachine(id, 'graceful', stand.call());
    stand.clock.increment(HOUR_MS);
    expect(bootIdOf(stand, id)).toBe(before);
    await stand.provider.rebootMachine(id, 'force', stand.call());
    stand.clock.increment(BOOT_MS);
    expect(bootIdOf(stand, id)).not.toBe(before);
    return stand;
  },
  async 'reboot-loop'() {
    const stand = createStubStand([{ fault: 'reboot-loop', amount: 5_000, times: 1 }]);
    const id = await stand.running();
    await stand.provider.rebootMachine(id, 'graceful', stand.call());
    stand.clock.increment(BOOT_MS);
    const bootIds = new Set<string>();
    for (let at = 0; at < 4; at += 1) {
      bootIds.add(bootIdOf(stand, id));
      stand.clock.increment(5_000);
    }
    expect(bootIds.size).toBe(4);
    await stand.provider.rebootMachine(id, 'force', stand.call());
    stand.clock.increment(BOOT_MS);
    const last = bootIdOf(stand, id);
    stand.clock.increment(HOUR_MS);
    expect(bootIdOf(stand, id)).toBe(last);
    return stand;
  },
  async 'reinstall-stuck'() {
    const stand = createStubStand([{ fault: 'reinstall-stuck', amount: 30, times: 1 }]);
    const id = await stand.running();
    await reinstall(stand, id);
    stand.clock.increment(100 * HOUR_MS);
    expect(await stand.get(id)).toMatchObject({ id, status: 'Provisioning' });
    expect(stand.account.world.device(id)!.progress).toBe(30);
    await reinstall(stand, id);
    stand.clock.increment(PROVISIONING_MS);
    expect(await stand.get(id)).toMatchObject({ id, status: 'Running' });
    return stand;
  },
  async 'power-lies'() {
    const stand = createStubStand([{ fault: 'power-lies', calls: [2] }]);
    const [honest, liar] = [await stand.running(), await stand.running()];
    expect((await stand.get(honest)).power).toBe('on');
    expect((await stand.get(liar)).power).toBe('off');
    await stand.provider.setPower!(liar, 'off', stand.call());
    expect((await stand.get(liar)).power).toBe('on');
    expect(stand.account.world.device(liar)!.power).toBe('off');
    return stand;
  },
  async 'bmc-unreachable'() {
    const stand = createStubStand([{ fault: 'bmc-unreachable' }]);
    const id = await stand.running();
    const { provider, call } = stand;
    const unreachable = { code: 'transient' };
    expect(await errorOf(provider.setPower!(id, 'off', call()))).toMatchObject(unreachable);
    expect(await errorOf(provider.rebootMachine(id, 'force', call()))).toMatchObject(unreachable);
    await provider.rebootMachine(id, 'graceful', call());
    return stand;
  },
  async 'destroy-listed'() {
    const stand = createStubStand([{ fault: 'destroy-listed', amount: 2 }]);
    const id = await stand.running();
    await destroy(stand, id);
    expect(await isListed(stand, id)).toBe(true);
    await destroy(stand, id);
    expect(await isListed(stand, id)).toBe(true);
    expect(await isListed(stand, id)).toBe(false);
    await destroy(stand, id);
    return stand;
  },
  async 'wipe-failed'() {
    const stand = createStubStand([{ fault: 'wipe-failed', times: 1 }]);
    const id = await stand.running();
    await destroy(stand, id);
    expect(await stand.get(id)).toMatchObject({ failed: true, power: 'off' });
    await destroy(stand, id);
    expect(await isListed(stand, id)).toBe(false);
    return stand;
  },
  async 'get-not-found'() {
    const stand = createStubStand([{ fault: 'get-not-found', times: 1 }]);
    const id = await stand.running();
    await expect(stand.get(id)).rejects.toMatchObject({ code: 'not-found' });
    expect(await stand.get(id)).toMatchObject({ id });
    return stand;
  },
  async 'destroy-not-found'() {
    const stand = createStubStand([{ fault: 'destroy-not-found', times: 1 }]);
    const id = await stand.running();
    await destroy(stand, id);
    expect(await isListed(stand, id)).toBe(true);
    await destroy(stand, id);
    expect(await isListed(stand, id)).toBe(false);
    return stand;
  },
} as const satisfies Partial<Readonly<Record<FaultKind, Proof>>>;
