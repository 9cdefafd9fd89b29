import { expect } from 'vitest';
import type { ProviderMachine } from '../../src/domain/machine.ts';
import { IDLE_TAG, SECRET_TAG, WITNESS_TAG } from '../../src/domain/provisioning/provider-tags.ts';
import {
  allRefused,
  OTHER_OWNER,
  OTHER_WITNESS,
  refused,
  type Scene,
  UNKNOWN_ID,
} from './provider-scene.ts';

/** What can be done to a machine that is there. */
export function actionsContract(scene: Scene): void {
  const { live, provider, eventually } = scene;
  const get = (id: string) => provider().getMachine(id, live);
  const isListed = async ({ id, reservationId }: ProviderMachine) =>
    (await scene.list()).some((one) => one.id === id && one.reservationId === reservationId);

  scene.test('a reboot is accepted and named', ['reboot'], async () => {
    const { id } = await scene.runningMachine();
    const { operationRef } = await provider().rebootMachine(id, 'graceful', live);
    expect(operationRef).toMatch(/./);
    await refused(provider().rebootMachine(UNKNOWN_ID, 'graceful', live), 'not-found');
  });

  scene.test(
    'what is given back goes away, and its slot is free again',
    ['deprovision', 'making'],
    async () => {
      const { id, machine } = await scene.runningMachine();
      await provider().deprovisionMachine(id, live);
      await eventually(() => isListed(machine), false);
      await eventually(() => get(id).catch((error: { code: string }) => error.code), 'not-found');
      await eventually(() => provider().isReusable(machine.reservationId ?? id, live), true);
    },
  );

  scene.test(
    'giving back twice is no error, nor is an unknown id',
    ['deprovision', 'making'],
    async () => {
      const { id } = await scene.runningMachine();
      await provider().deprovisionMachine(id, live);
      await provider().deprovisionMachine(id, live);
      await eventually(() => get(id).catch((error: { code: string }) => error.code), 'not-found');
      await provider().deprovisionMachine(id, live);
      await provider().deprovisionMachine(UNKNOWN_ID, live);
    },
  );

  scene.test(
    'tags are seen by another instance; foreign keys stay',
    ['tags', 'strangers'],
    async () => {
      const { id, machine } = await scene.runningMachine();
      await scene.strangers().putTag(id, 'rack', 'r7');
      await provider().setTags(id, { [IDLE_TAG]: 'hold' }, live);
      const expected = { ...machine.tags, rack: 'r7', [IDLE_TAG]: 'hold' };
      expect((await get(id)).tags).toEqual(expected);
      const elsewhere = scene.stand().reopen();
      expect((await elsewhere.getMachine(id, live)).tags).toEqual(expected);
      await refused(provider().setTags(UNKNOWN_ID, { [IDLE_TAG]: 'run' }, live), 'not-found');
    },
  );

  scene.test(
    'an untagged device becomes ours, once and for all',
    ['tags', 'strangers'],
    async () => {
      const { id } = await scene.runningMachine();
      await scene.strangers().setOwner(id, null);
      const ours = await provider().assimilate(id, OTHER_WITNESS, live);
      expect(ours).toMatchObject({ id, ownership: 'ours', tags: { [WITNESS_TAG]: OTHER_WITNESS } });
      await scene.strangers().setOwner(id, OTHER_OWNER);
      await refused(provider().assimilate(id, OTHER_WITNESS, live), 'conflict');
      expect((await get(id)).ownership).toBe('foreign');
    },
  );

  scene.test(
    'a reinstalled machine keeps its id and gets a new secret',
    ['reinstall'],
    async () => {
      const { id, machine } = await scene.runningMachine();
      const { operationRef } = await provider().reinstallMachine(id, live);
      expect(operationRef).toMatch(/./);
      await scene.untilRunning(id);
      const after = await get(id);
      expect(after).toMatchObject({ id, reservationId: machine.reservationId, ownership: 'ours' });
      expect(after.tags[WITNESS_TAG]).toBe(machine.tags[WITNESS_TAG]);
      expect(after.tags[SECRET_TAG]).toMatch(/^[0-9a-f]{64}$/);
      expect(after.tags[SECRET_TAG]).not.toBe(machine.tags[SECRET_TAG]);
    },
  );

  scene.test('power goes off and on', ['power'], async () => {
    const { id } = await scene.runningMachine();
    for (const want of ['off', 'on'] as const) {
      const { operationRef } = await provider().setPower(id, want, live);
      expect(operationRef).toMatch(/./);
      await eventually(async () => (await get(id)).power, want);
    }
  });

  for (const owner of [null, OTHER_OWNER]) {
    const title = `a device that is ${owner === null ? 'untagged' : 'foreign'} is left alone`;
    scene.test(title, ['making', 'strangers'], async () => {
      const { id } = await scene.runningMachine();
      await scene.strangers().setOwner(id, owner);
      const before = await get(id);
      const can = provider().capabilities;
      const calls = [
        ...(can.reboot ? [provider().rebootMachine(id, 'force', live)] : []),
        ...(can.deprovision ? [provider().deprovisionMachine(id, live)] : []),
        ...(can.reinstall ? [provider().reinstallMachine(id, live)] : []),
        ...(can.power ? [provider().setPower(id, 'off', live)] : []),
        ...(can.tags ? [provider().setTags(id, { [IDLE_TAG]: 'hold' }, live)] : []),
      ];
      await allRefused(calls, 'conflict');
      expect({ ...(await get(id)), observedAtMs: 0 }).toEqual({ ...before, observedAtMs: 0 });
    });
  }
}
