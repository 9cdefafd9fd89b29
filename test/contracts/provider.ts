import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Provider } from '../../src/adapters/provider/port.ts';
import { OWNER_TAG, WITNESS_TAG } from '../../src/adapters/provider/port.ts';
import { Cancelled, Denied, NotFound, RaceLost } from '../../src/domain/errors.ts';
import { type Witness, witness } from '../../src/domain/ids.ts';
import type { ProviderMachine } from '../../src/domain/machine.ts';

/** A provider with at least four free slots and none of ours, and the world behind it. */
export interface ProviderStand {
  readonly provider: Provider;
  readonly instanceSetId: string;
  /** A stranger's device takes the slot. */
  snatch(reservationId: string): void;
  /** Somebody changes the device's owner tag; null takes it away. All other tags stay. */
  setOwner(id: string, owner: string | null): Promise<void>;
  /** Devices that exist, strangers' included. */
  deviceCount(): number;
  /** From now on nothing is answered any more. Resolves with the first call that hangs. */
  hang(): { readonly reached: Promise<void> };
  close(): Promise<void>;
}

const WITNESS = witness('0b6e1111-1111-4111-8111-111111111111');
const OTHER_WITNESS = witness('0b6e2222-2222-4222-8222-222222222222');
const OTHER_OWNER = 'shep0-other-000000000000000';
const UNKNOWN_ID = '00000000-0000-4000-8000-00000000dead';

/** What every driver must do. `start` is called before each test. */
export function providerContract(name: string, start: () => Promise<ProviderStand>) {
  describe(`provider contract: ${name}`, () => {
    let stand: ProviderStand;
    let provider: Provider;
    const live = { signal: new AbortController().signal };

    beforeEach(async () => {
      stand = await start();
      provider = stand.provider;
    });
    afterEach(() => stand.close());

    const list = async () => (await provider.listMachines(live)).machines;
    const firstFree = async (): Promise<ProviderMachine> => {
      const free = (await list()).find(({ availability }) => availability === 'KnownUnused');
      expect(free).toBeDefined();
      return free!;
    };
    const orderFor = (unused: ProviderMachine, mark: Witness = WITNESS) => ({
      unused,
      witness: mark,
      hostname: provider.hostnameFor(unused.reservationId!),
    });
    const create = async (unused: ProviderMachine, mark?: Witness) =>
      provider.createMachine(orderFor(unused, mark), live);
    const untilRunning = async (id: string) => {
      const statusNow = async () => (await provider.getMachine(id, live)).status;
      await expect.poll(statusNow, { timeout: 20_000 }).toBe('Running');
    };

    test('a listing obeys the laws of its shape', async () => {
      const { reservationId } = await create(await firstFree());
      const { machines, complete } = await provider.listMachines(live);
      expect(complete).toBe(true);
      const slots = machines.map((machine) => machine.reservationId ?? machine.id);
      expect(new Set(slots).size).toBe(slots.length);
      expect(slots).toContain(reservationId);
      for (const machine of machines) {
        const used = machine.availability === 'KnownUsed';
        expect(machine.id === null).toBe(!used);
        if (!used) expect(machine.reservationId).toMatch(/./);
        expect(machine.ownership).toBe('ours');
        if (used) expect(machine.hostname).toMatch(/^[a-z0-9-]+$/);
        expect(machine.remoteUser).toMatch(/./);
        expect(machine.observedAtMs).toBeGreaterThan(0);
      }
    });

    test('a created machine is in the next listing, with witness and owner', async () => {
      const unused = await firstFree();
      const created = await create(unused);
      expect(created.id).not.toBeNull();
      expect(created.reservationId).toBe(unused.reservationId);
      const listed = (await list()).filter((m) => m.reservationId === unused.reservationId);
      expect(listed).toHaveLength(1);
      expect(listed[0]).toMatchObject({
        id: created.id,
        availability: 'KnownUsed',
        hostname: provider.hostnameFor(unused.reservationId!),
        tags: { [WITNESS_TAG]: WITNESS, [OWNER_TAG]: stand.instanceSetId },
      });
    });

    test('a creation is announced before each attempt', async () => {
      const progress: { attempts: number; ambiguous: boolean }[] = [];
      const onAttempt = async (seen: { attempts: number; ambiguous: boolean }) => {
        expect(stand.deviceCount()).toBe(0);
        progress.push(seen);
      };
      await provider.createMachine({ ...orderFor(await firstFree()), onAttempt }, live);
      expect(progress).toEqual([{ attempts: 1, ambiguous: false }]);
    });

    test('an announcement that fails stops the creation', async () => {
      const failure = new Error('not recorded');
      const onAttempt = () => Promise.reject(failure);
      const order = { ...orderFor(await firstFree()), onAttempt };
      await expect(provider.createMachine(order, live)).rejects.toBe(failure);
      expect(stand.deviceCount()).toBe(0);
    });

    test('the same witness again is the same device', async () => {
      const unused = await firstFree();
      const first = await create(unused);
      const again = await create(unused);
      const resumed = await provider.createMachine({ ...orderFor(unused), resumed: true }, live);
      expect([again.id, resumed.id]).toEqual([first.id, first.id]);
      expect(stand.deviceCount()).toBe(1);
    });

    test('capacity that a stranger took is a lost race', async () => {
      const unused = await firstFree();
      stand.snatch(unused.reservationId!);
      await expect(create(unused)).rejects.toBeInstanceOf(RaceLost);
      expect(stand.deviceCount()).toBe(1);
    });

    test('of two witnesses on one slot one wins', async () => {
      const unused = await firstFree();
      const results = await Promise.allSettled([create(unused), create(unused, OTHER_WITNESS)]);
      const lost = results.filter((result) => result.status === 'rejected');
      expect(lost).toHaveLength(1);
      expect(lost[0]!.reason).toBeInstanceOf(RaceLost);
      expect(stand.deviceCount()).toBe(1);
    });

    test('what is used is not offered as free', async () => {
      const unused = await firstFree();
      stand.snatch(unused.reservationId!);
      await expect(create(unused)).rejects.toBeInstanceOf(RaceLost);
      const offered = (await list()).map(({ reservationId }) => reservationId);
      expect(offered).not.toContain(unused.reservationId);
    });

    test('a device is found by its witness, and only by it', async () => {
      const unused = await firstFree();
      const slotId = unused.reservationId!;
      expect(await provider.findByWitness(WITNESS, slotId, live)).toBeNull();
      const created = await create(unused);
      const found = await provider.findByWitness(WITNESS, slotId, live);
      expect(found).toMatchObject({ id: created.id, reservationId: slotId });
      expect(await provider.findByWitness(OTHER_WITNESS, slotId, live)).toBeNull();
    });

    test.each([
      ['untagged', null],
      ['foreign', OTHER_OWNER],
    ])('a device of ours that somebody made %s is shown as that, and left alone', async (...to) => {
      const [ownership, owner] = to;
      const unused = await firstFree();
      const { id } = await create(unused);
      await untilRunning(id!);
      await stand.setOwner(id!, owner);
      expect(await provider.getMachine(id!, live)).toMatchObject({ id, ownership });
      const listed = (await list()).filter((m) => m.reservationId === unused.reservationId);
      expect(listed).toMatchObject([{ id, ownership, availability: 'KnownUsed' }]);
      const reboot = provider.rebootMachine(id!, 'graceful', live);
      await expect(reboot).rejects.toBeInstanceOf(Denied);

      await stand.setOwner(id!, stand.instanceSetId);
      expect(await provider.getMachine(id!, live)).toMatchObject({ id, ownership: 'ours' });
      await provider.rebootMachine(id!, 'graceful', live);
    });

    test("our witness under another owner's tag is a lost race", async () => {
      const unused = await firstFree();
      const { id } = await create(unused);
      await stand.setOwner(id!, OTHER_OWNER);
      for (const resumed of [false, true]) {
        const again = provider.createMachine({ ...orderFor(unused), resumed }, live);
        await expect(again).rejects.toBeInstanceOf(RaceLost);
      }
      const search = provider.findByWitness(WITNESS, unused.reservationId!, live);
      await expect(search).rejects.toBeInstanceOf(RaceLost);
      expect(stand.deviceCount()).toBe(1);
    });

    test('our witness without an owner tag is still what we made, and shown untagged', async () => {
      const unused = await firstFree();
      const { id } = await create(unused);
      await stand.setOwner(id!, null);
      const found = await provider.findByWitness(WITNESS, unused.reservationId!, live);
      expect(found).toMatchObject({ id, ownership: 'untagged' });
      expect(await create(unused)).toMatchObject({ id, ownership: 'untagged' });
      expect(stand.deviceCount()).toBe(1);
    });

    test('an unknown machine is NotFound', async () => {
      await expect(provider.getMachine(UNKNOWN_ID, live)).rejects.toBeInstanceOf(NotFound);
      const reboot = provider.rebootMachine(UNKNOWN_ID, 'graceful', live);
      await expect(reboot).rejects.toBeInstanceOf(NotFound);
    });

    test('a machine comes up with an address, and its reboot is accepted', async () => {
      const { id } = await create(await firstFree());
      await untilRunning(id!);
      const machine = await provider.getMachine(id!, live);
      expect(machine).toMatchObject({ id, power: 'on', failed: false });
      expect(machine.address).toMatch(/./);
      const { operationRef } = await provider.rebootMachine(id!, 'graceful', live);
      expect(operationRef).toContain(id);
    });

    test('preparing is idempotent', async () => {
      await provider.prepare?.(live);
      await provider.prepare?.(live);
      await create(await firstFree());
    });

    test('an aborted call ends with Cancelled and changes nothing', async () => {
      const unused = await firstFree();
      const { reached } = stand.hang();
      const controller = new AbortController();
      const options = { signal: controller.signal };
      const calls = [
        provider.listMachines(options),
        provider.getMachine(UNKNOWN_ID, options),
        provider.createMachine(orderFor(unused), options),
        provider.findByWitness(WITNESS, unused.reservationId!, options),
        provider.rebootMachine(UNKNOWN_ID, 'graceful', options),
      ];
      const settled = Promise.allSettled(calls);
      await reached;
      controller.abort();
      for (const result of await settled) {
        expect(result).toMatchObject({ status: 'rejected', reason: expect.any(Cancelled) });
      }
      expect(stand.deviceCount()).toBe(0);
    });

    test('after stop every call is Cancelled; stopping twice is fine', async () => {
      const unused = await firstFree();
      await provider.stop();
      await provider.stop();
      const calls = [
        provider.listMachines(live),
        provider.getMachine(UNKNOWN_ID, live),
        provider.createMachine(orderFor(unused), live),
        provider.findByWitness(WITNESS, unused.reservationId!, live),
        provider.rebootMachine(UNKNOWN_ID, 'graceful', live),
      ];
      for (const result of await Promise.allSettled(calls)) {
        expect(result).toMatchObject({ status: 'rejected', reason: expect.any(Cancelled) });
      }
    });

    test('a slot always yields the same, valid hostname', () => {
      const slotIds = [UNKNOWN_ID, '4f0c2d9a-7b1e-4c55-9a02-5d1f0c6be111'];
      for (const slotId of slotIds) {
        expect(provider.hostnameFor(slotId)).toBe(provider.hostnameFor(slotId));
        expect(provider.hostnameFor(slotId)).toMatch(/^[a-z0-9][a-z0-9-]{0,62}$/);
      }
      expect(new Set(slotIds.map((slotId) => provider.hostnameFor(slotId))).size).toBe(2);
    });
  });
}
