import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { FleetCall, FleetProvider } from '../../src/adapters/provider/port.ts';
import { ProviderError, type ProviderErrorKind } from '../../src/domain/errors.ts';
import { type Witness, witness } from '../../src/domain/ids.ts';
import type { ProviderMachine } from '../../src/domain/machine.ts';
import { IDLE_TAG, WITNESS_TAG } from '../../src/domain/provisioning/provider-tags.ts';

/** A provider with free capacity and no machine of ours, and its world. */
export interface ProviderStand {
  readonly provider: FleetProvider;
  readonly instanceSetId: string;
  /** What another user of the account can do. */
  readonly strangers: Strangers;
  /** All existing devices, including strangers' devices. */
  deviceCount(): number;
  /** From now on no call is answered. Resolves at the first call that hangs. */
  hang(): { readonly reached: Promise<void> };
  /** Lets some of the provider's time pass; absent where time passes by itself. */
  pass?(): Promise<void>;
  close(): Promise<void>;
}
export interface Strangers {
  /** A stranger's device takes the slot. */
  snatch(reservationId: string): void;
  /** A stranger changes the device's owner tag; null removes it. All other tags stay. */
  setOwner(id: string, owner: string | null): Promise<void>;
}

const WITNESS = witness('0b6e1111-1111-4111-8111-111111111111');
const OTHER_WITNESS = witness('0b6e2222-2222-4222-8222-222222222222');
const OTHER_OWNER = 'shep0-other-000000000000000';
const UNKNOWN_ID = '00000000-0000-4000-8000-00000000dead';
const live = { signal: new AbortController().signal };

/**
 * What the fleet expects from every driver that creates machines and what no live account can be
 * asked for: strangers' changes to devices, and calls that hang. The steps of `src/conformance`
 * cover the rest.
 */
export function providerContract(name: string, start: () => Promise<ProviderStand>): void {
  let stand: ProviderStand;
  beforeEach(async () => {
    stand = await start();
  });
  afterEach(() => stand.close());

  const get = (id: string) => stand.provider.getMachine(id, live);
  const find = (slotId: string) => stand.provider.findByWitness(WITNESS, slotId, live);
  const list = async () => (await stand.provider.listMachines(live)).machines;
  async function firstFree(): Promise<ProviderMachine & { readonly reservationId: string }> {
    const free = (await list()).find(({ availability }) => availability === 'KnownUnused')!;
    return { ...free, reservationId: free.reservationId! };
  }
  const orderFor = (unused: ProviderMachine, mark: Witness = WITNESS) => ({
    unused,
    witness: mark,
    hostname: stand.provider.hostnameFor(unused.reservationId!),
  });
  const create = (unused: ProviderMachine, mark?: Witness) =>
    stand.provider.createMachine(orderFor(unused, mark), live);

  /** A machine of ours that is up. */
  async function runningMachine(): Promise<{ id: string; slotId: string }> {
    const { id, reservationId } = await create(await firstFree());
    const look = async () => {
      await stand.pass?.();
      return (await get(id!)).status;
    };
    await expect.poll(look, { interval: 10 }).toBe('Running');
    return { id: id!, slotId: reservationId! };
  }

  describe(`provider contract: ${name}, strangers`, () => {
    test('treats capacity that a stranger took as a lost race and offers it no more', async () => {
      const unused = await firstFree();
      stand.strangers.snatch(unused.reservationId);
      await refused(create(unused), 'race-lost');
      expect(stand.deviceCount()).toBe(1);
      const offered = (await list()).filter(({ availability }) => availability === 'KnownUnused');
      expect(offered.map(({ reservationId }) => reservationId)).not.toContain(unused.reservationId);
    });

    test('lets one of two creation keys on one slot win', async () => {
      const unused = await firstFree();
      const results = await Promise.allSettled([create(unused), create(unused, OTHER_WITNESS)]);
      const lost = results.filter((result) => result.status === 'rejected');
      expect(lost).toHaveLength(1);
      await refused(Promise.reject(lost[0]!.reason), 'race-lost');
      expect(stand.deviceCount()).toBe(1);
    });

    test('refuses a slot that never existed', async () => {
      const unknown = { ...(await firstFree()), reservationId: UNKNOWN_ID };
      await refused(create(unknown), 'invalid', 'race-lost', 'not-found');
      expect(stand.deviceCount()).toBe(0);
    });

    test("treats our creation key under another owner's tag as a lost race", async () => {
      const unused = await firstFree();
      const { id } = await create(unused);
      await stand.strangers.setOwner(id!, OTHER_OWNER);
      for (const resumed of [false, true]) {
        const again = stand.provider.createMachine({ ...orderFor(unused), resumed }, live);
        await refused(again, 'race-lost');
      }
      await refused(find(unused.reservationId), 'race-lost');
      expect(stand.deviceCount()).toBe(1);
    });

    test('recognises our creation key without an owner tag and shows the device untagged', async () => {
      const unused = await firstFree();
      const { id } = await create(unused);
      await stand.strangers.setOwner(id!, null);
      const made = { id, ownership: 'untagged' };
      expect(await find(unused.reservationId)).toMatchObject(made);
      expect(await create(unused)).toMatchObject(made);
      expect(stand.deviceCount()).toBe(1);
    });

    test('makes an untagged device ours once and for all', async () => {
      const { id } = await runningMachine();
      await stand.strangers.setOwner(id, null);
      const ours = await stand.provider.assimilate(id, OTHER_WITNESS, live);
      expect(ours).toMatchObject({ id, ownership: 'ours', tags: { [WITNESS_TAG]: OTHER_WITNESS } });
      await stand.strangers.setOwner(id, OTHER_OWNER);
      await refused(stand.provider.assimilate(id, OTHER_WITNESS, live), 'conflict');
      expect((await get(id)).ownership).toBe('foreign');
    });

    test.each([
      ['untagged', null],
      ['foreign', OTHER_OWNER],
    ])(
      'shows a device that somebody made %s as such and leaves it alone',
      async (ownership, owner) => {
        const { id, slotId } = await runningMachine();
        await stand.strangers.setOwner(id, owner);
        const before = await get(id);
        expect(before).toMatchObject({ id, ownership });
        const listed = (await list()).filter(({ reservationId }) => reservationId === slotId);
        expect(listed).toMatchObject([{ id, ownership, availability: 'KnownUsed' }]);
        const { provider } = stand;
        await allRefused(
          [
            provider.rebootMachine(id, 'force', live),
            provider.deprovisionMachine(id, live),
            provider.reinstallMachine(id, live),
            provider.setPower(id, 'off', live),
            provider.setTags(id, { [IDLE_TAG]: 'hold' }, live),
          ],
          'conflict',
        );
        expect({ ...(await get(id)), observedAtMs: 0 }).toEqual({ ...before, observedAtMs: 0 });
        await stand.strangers.setOwner(id, stand.instanceSetId);
        expect(await get(id)).toMatchObject({ id, ownership: 'ours' });
      },
    );
  });

  describe(`provider contract: ${name}, ends of calls`, () => {
    /** Every kind of call. */
    const calls = (options: FleetCall, unused: ProviderMachine): Promise<unknown>[] => [
      stand.provider.listMachines(options),
      stand.provider.getMachine(UNKNOWN_ID, options),
      stand.provider.createMachine(orderFor(unused), options),
      stand.provider.findByWitness(WITNESS, unused.reservationId!, options),
      stand.provider.rebootMachine(UNKNOWN_ID, 'graceful', options),
      stand.provider.deprovisionMachine(UNKNOWN_ID, options),
      stand.provider.reinstallMachine(UNKNOWN_ID, options),
      stand.provider.setPower(UNKNOWN_ID, 'off', options),
      stand.provider.setTags(UNKNOWN_ID, {}, options),
    ];
    let unused: ProviderMachine;
    beforeEach(async () => {
      unused = await firstFree();
    });
    afterEach(() => expect(stand.deviceCount()).toBe(0));

    test('ends an aborted call with `aborted` and changes nothing', async () => {
      const { reached } = stand.hang();
      const controller = new AbortController();
      const ended = allRefused(calls({ signal: controller.signal }, unused), 'aborted');
      await reached;
      controller.abort();
      await ended;
    });

    test('does nothing in a call that was aborted before it began', () =>
      allRefused(calls({ signal: AbortSignal.abort() }, unused), 'aborted'));

    test('ends a call at its deadline', async () => {
      stand.hang();
      await allRefused(calls({ ...live, timeoutMs: 100 }, unused), 'aborted');
    });

    test('ends pending calls on stop', async () => {
      const { reached } = stand.hang();
      const ended = allRefused(calls(live, unused), 'aborted', 'stopped');
      await reached;
      await stand.provider.stop();
      await ended;
    });

    test('refuses every call after stop and accepts a second stop', async () => {
      await stand.provider.stop();
      await stand.provider.stop();
      await allRefused(calls(live, unused), 'stopped');
    });
  });
}

/**
 * The contract of machines of an inventory: they are taken in unchanged, let go, and taken in
 * again.
 */
export function inventoryContract(name: string, start: () => Promise<FleetProvider>): void {
  test(`inventory contract: ${name}`, async () => {
    const provider = await start();
    const { machines: before } = await provider.listMachines(live);
    const unused = before.find(({ availability }) => availability === 'PossiblyUsed')!;
    for (const mark of [WITNESS, OTHER_WITNESS]) {
      const order = { unused, witness: mark, hostname: 'not-to-be' };
      const taken = await provider.createMachine(order, live);
      expect(taken).toMatchObject({ id: unused.id, tags: { [WITNESS_TAG]: mark } });
      await provider.deprovisionMachine(unused.id!, live);
      // The machine stays where it is and can be taken in again.
      expect(await provider.getMachine(unused.id!, live)).toMatchObject({ id: unused.id });
    }
    const free: ProviderMachine = { ...unused, id: null, availability: 'KnownUnused' };
    const order = { unused: free, witness: WITNESS, hostname: 'not-to-be' };
    await refused(provider.createMachine(order, live), 'invalid');
    const after = await provider.listMachines(live);
    expect(after.machines.map(({ id }) => id)).toEqual(before.map(({ id }) => id));
    await provider.stop();
    await refused(provider.listMachines(live), 'stopped');
    await refused(provider.createMachine({ ...order, unused }, live), 'stopped');
  });
}

/** Asserts that the call rejects with a provider error of one of these kinds. */
async function refused(call: Promise<unknown>, ...kinds: readonly ProviderErrorKind[]) {
  const error: unknown = await call.then(
    () => new Error('it was accepted'),
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(ProviderError);
  expect(kinds).toContain((error as ProviderError).kind);
}

/** Asserts this for each call. */
async function allRefused(
  calls: readonly Promise<unknown>[],
  ...kinds: readonly ProviderErrorKind[]
) {
  await Promise.allSettled(calls);
  for (const call of calls) await refused(call, ...kinds);
}
