import { expect } from 'vitest';
import { SET_ID_TAG, WITNESS_TAG } from '../../src/domain/provisioning/provider-tags.ts';
import { OTHER_OWNER, refused, type Scene, UNKNOWN_ID, WITNESS } from './provider-scene.ts';

/** What is shown, and whose it is said to be. */
export function listingContract(scene: Scene): void {
  const { live, list, firstFree, create, provider } = scene;

  scene.test('a listing obeys the laws of its shape', [], async () => {
    if (!scene.without.includes('making')) await create(await firstFree());
    const { machines, complete } = await provider().listMachines(live);
    expect(complete).toBe(true);
    expect(machines).not.toEqual([]);
    const slots = machines.map((machine) => machine.reservationId ?? machine.id);
    expect(new Set(slots).size).toBe(slots.length);
    for (const machine of machines) {
      if (machine.availability === 'KnownUsed') expect(machine.id).not.toBeNull();
      if (machine.id !== null) {
        expect(machine.id).toMatch(/^[\x20-\x7e]{1,128}$/);
        expect(machine.id).not.toBe('invalid');
      } else expect(machine.reservationId).toMatch(/./);
      expect(machine.ownership).toBe('ours');
      if (machine.hostname !== null) expect(machine.hostname).toMatch(/^[A-Za-z0-9.-]+$/);
      expect(machine.remoteUser).toMatch(/./);
      expect(machine.observedAtMs).toBeGreaterThan(0);
    }
  });

  scene.test(
    'a created machine is in the next listing, with witness and owner',
    ['making', 'consistentList'],
    async () => {
      const unused = await firstFree();
      const created = await create(unused);
      expect(created.id).not.toBeNull();
      expect(created.reservationId).toBe(unused.reservationId);
      const listed = (await list()).filter((m) => m.reservationId === unused.reservationId);
      expect(listed).toHaveLength(1);
      expect(listed[0]).toMatchObject({
        id: created.id,
        availability: 'KnownUsed',
        hostname: provider().hostnameFor(unused.reservationId!),
        tags: { [WITNESS_TAG]: WITNESS, [SET_ID_TAG]: scene.stand().instanceSetId },
      });
    },
  );

  scene.test('what is used is not offered as free', ['making', 'strangers'], async () => {
    const unused = await firstFree();
    scene.strangers().snatch(unused.reservationId!);
    await refused(create(unused), 'race-lost');
    const offered = (await list()).filter(({ availability }) => availability === 'KnownUnused');
    expect(offered.map(({ reservationId }) => reservationId)).not.toContain(unused.reservationId);
  });

  for (const [ownership, owner] of [
    ['untagged', null],
    ['foreign', OTHER_OWNER],
  ] as const) {
    scene.test(
      `a device of ours that somebody made ${ownership} is shown as that`,
      ['making', 'strangers'],
      async () => {
        const { id, machine } = await scene.runningMachine();
        await scene.strangers().setOwner(id, owner);
        expect(await provider().getMachine(id, live)).toMatchObject({ id, ownership });
        const listed = (await list()).filter((m) => m.reservationId === machine.reservationId);
        expect(listed).toMatchObject([{ id, ownership, availability: 'KnownUsed' }]);
        await scene.strangers().setOwner(id, scene.stand().instanceSetId);
        expect(await provider().getMachine(id, live)).toMatchObject({ id, ownership: 'ours' });
      },
    );
  }

  scene.test('an unknown machine is not-found', [], async () => {
    await refused(provider().getMachine(UNKNOWN_ID, live), 'not-found');
  });

  scene.test('a machine that is up has an address', [], async () => {
    const { machine } = await scene.runningMachine();
    expect(machine.failed).toBe(false);
    expect(machine.address).toMatch(/./);
  });

  scene.test('a slot always yields the same, valid hostname', [], async () => {
    const slotIds = (await list()).map(({ reservationId, id }) => reservationId ?? id!);
    const names = slotIds.map((slotId) => provider().hostnameFor(slotId));
    expect(slotIds.map((slotId) => provider().hostnameFor(slotId))).toEqual(names);
    for (const name of names) expect(name).toMatch(/^[a-z0-9][a-z0-9-]{0,62}$/);
    expect(new Set(names).size).toBe(slotIds.length);
  });

  scene.test('plans of one name and place share a quota group', [], async () => {
    const plan = { name: 'm3.large.x86', location: 'da', spot: false };
    expect(provider().capacityGroup({ ...plan })).toBe(provider().capacityGroup(plan));
  });
}
