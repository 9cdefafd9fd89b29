import { expect } from 'vitest';
import type { ProviderMachine } from '../../src/domain/machine.ts';
import { PLAN_TAG, SECRET_TAG } from '../../src/domain/provisioning/provider-tags.ts';
import {
  OTHER_OWNER,
  OTHER_WITNESS,
  refused,
  type Scene,
  UNKNOWN_ID,
  WITNESS,
} from './provider-scene.ts';

type Progress = { attempts: number; ambiguous: boolean };

/** How a device comes to be: once, announced, and found again. */
export function creationContract(scene: Scene): void {
  const { live, firstFree, orderFor, create, provider } = scene;
  const deviceCount = () => scene.stand().deviceCount();
  const find = (slotId: string, mark = WITNESS) => provider().findByWitness(mark, slotId, live);

  scene.test('a creation is announced before each attempt', ['making'], async () => {
    const progress: Progress[] = [];
    const onAttempt = async (seen: Progress) => {
      expect(deviceCount()).toBe(0);
      progress.push(seen);
    };
    await provider().createMachine({ ...orderFor(await firstFree()), onAttempt }, live);
    expect(progress).toEqual([{ attempts: 1, ambiguous: false }]);
  });

  scene.test('an announcement that fails stops the creation', ['making'], async () => {
    const failure = new Error('not recorded');
    const onAttempt = () => Promise.reject(failure);
    const order = { ...orderFor(await firstFree()), onAttempt };
    const error: unknown = await provider()
      .createMachine(order, live)
      .catch((reason: unknown) => reason);
    expect([error, (error as Error).cause]).toContain(failure);
    expect(deviceCount()).toBe(0);
  });

  scene.test('a new device carries the plan and the hash of its secret', ['making'], async () => {
    const unused = await firstFree();
    const { tags } = await create(unused);
    expect(tags[PLAN_TAG]).toBe(unused.plan);
    expect(tags[SECRET_TAG]).toMatch(/^[0-9a-f]{64}$/);
  });

  scene.test('the same witness again is the same device', ['making'], async () => {
    const unused = await firstFree();
    const first = await create(unused);
    const again = await create(unused);
    const resumed = await provider().createMachine({ ...orderFor(unused), resumed: true }, live);
    expect([again.id, resumed.id]).toEqual([first.id, first.id]);
    expect(deviceCount()).toBe(1);
  });

  scene.test('capacity that a stranger took is a lost race', ['making', 'strangers'], async () => {
    const unused = await firstFree();
    scene.strangers().snatch(unused.reservationId!);
    await refused(create(unused), 'race-lost');
    expect(deviceCount()).toBe(1);
  });

  scene.test('of two witnesses on one slot one wins', ['making'], async () => {
    const unused = await firstFree();
    const results = await Promise.allSettled([create(unused), create(unused, OTHER_WITNESS)]);
    const lost = results.filter((result) => result.status === 'rejected');
    expect(lost).toHaveLength(1);
    await refused(Promise.reject(lost[0]!.reason), 'race-lost');
    expect(deviceCount()).toBe(1);
  });

  scene.test('what is no free capacity of this provider is invalid', ['making'], async () => {
    const unused = await firstFree();
    const others: ProviderMachine[] = [
      { ...unused, id: UNKNOWN_ID, availability: 'KnownUsed' },
      { ...unused, id: null, reservationId: null },
    ];
    for (const other of others) {
      await refused(
        provider().createMachine({ ...orderFor(unused), unused: other }, live),
        'invalid',
      );
    }
    const unknown = { ...unused, reservationId: UNKNOWN_ID };
    await refused(create(unknown), 'invalid', 'race-lost', 'not-found');
    expect(deviceCount()).toBe(0);
  });

  scene.test('a device is found by its witness, and only by it', ['making'], async () => {
    const unused = await firstFree();
    const slotId = unused.reservationId!;
    expect(await find(slotId)).toBeNull();
    const created = await create(unused);
    expect(await find(slotId)).toMatchObject({ id: created.id, reservationId: slotId });
    // Under a device of somebody else, that there is none may be told as the race that was lost.
    const other = await find(slotId, OTHER_WITNESS).catch((error: unknown) => error);
    if (other !== null) expect(other).toMatchObject({ code: 'race-lost' });
  });

  const underAnother = "our witness under another owner's tag is a lost race";
  scene.test(underAnother, ['making', 'strangers'], async () => {
    const unused = await firstFree();
    const { id } = await create(unused);
    await scene.strangers().setOwner(id!, OTHER_OWNER);
    for (const resumed of [false, true]) {
      const again = provider().createMachine({ ...orderFor(unused), resumed }, live);
      await refused(again, 'race-lost');
    }
    await refused(find(unused.reservationId!), 'race-lost');
    expect(deviceCount()).toBe(1);
  });

  const unowned = 'our witness without an owner tag is still what we made, and shown untagged';
  scene.test(unowned, ['making', 'strangers'], async () => {
    const unused = await firstFree();
    const { id } = await create(unused);
    await scene.strangers().setOwner(id!, null);
    const found = await find(unused.reservationId!);
    expect(found).toMatchObject({ id, ownership: 'untagged' });
    expect(await create(unused)).toMatchObject({ id, ownership: 'untagged' });
    expect(deviceCount()).toBe(1);
  });

  scene.test('preparing is idempotent', [], async () => {
    await provider().prepare(live);
    await provider().prepare(live);
  });
}
