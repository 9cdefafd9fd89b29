import { expect, test } from 'vitest';
import type { DriverMachine } from '../../../../src/adapters/provider/port.ts';
import { ProviderError } from '../../../../src/domain/errors.ts';
import { WITNESS_TAG } from '../../../../src/domain/provisioning/provider-tags.ts';
import {
  EVERYTHING,
  fleetOf,
  live,
  machine,
  order,
  scripted,
  unused,
  WITNESS,
} from '../../../doubles/scripted-driver.ts';

const nothing = { create: false, deprovision: false, tags: false } as const;
const entry = (id: string): DriverMachine =>
  machine(id, { reservationId: null, availability: 'PossiblyUsed' });
const listed = (id: string) =>
  unused('', { id, reservationId: null, availability: 'PossiblyUsed' });

function stand() {
  const there = new Set(['a']);
  const driver = scripted({
    capabilities: { ...EVERYTHING, ...nothing },
    listMachines: async () => ({ machines: [...there].map(entry), complete: true }),
    async getMachine(id) {
      if (there.has(id)) return entry(id);
      throw new ProviderError('not-found', `no machine ${id}`);
    },
  });
  return { there, fleet: fleetOf(driver).fleet };
}

test('a machine of an inventory is taken in as it is, and announced before', async () => {
  const { fleet } = stand();
  expect(fleet.capabilities).toMatchObject({ create: true, deprovision: true, tags: false });
  const attempts: number[] = [];
  const onAttempt = async (progress: { attempts: number }) => void attempts.push(progress.attempts);
  const made = await fleet.createMachine(order({ unused: listed('a'), onAttempt }), live);
  expect(made).toMatchObject({ id: 'a', ownership: 'ours', tags: { [WITNESS_TAG]: WITNESS } });
  expect(attempts).toEqual([1]);
  expect(await fleet.findByWitness(WITNESS, 'a', live)).toMatchObject({ id: 'a' });
  expect(await fleet.assimilate('a', WITNESS, live)).toMatchObject({ ownership: 'ours' });
});

test('a machine whose look takes long keeps no other from being taken in', async () => {
  const looked = Promise.withResolvers<DriverMachine>();
  const { fleet } = fleetOf(
    scripted({
      capabilities: { ...EVERYTHING, ...nothing },
      getMachine: async (id) => (id === 'slow' ? looked.promise : entry(id)),
    }),
  );
  const slow = fleet.createMachine(order({ unused: listed('slow') }), live);
  const made = await fleet.createMachine(order({ unused: listed('a') }), live);
  expect(made.id).toBe('a');
  looked.resolve(entry('slow'));
  expect((await slow).id).toBe('slow');
});

test('one that the inventory lost is a lost race; free capacity there is none', async () => {
  const { fleet, there } = stand();
  there.clear();
  const gone = fleet.createMachine(order({ unused: listed('a') }), live);
  await expect(gone).rejects.toMatchObject({ kind: 'race-lost' });
  const free = fleet.createMachine(order(), live);
  await expect(free).rejects.toMatchObject({ kind: 'invalid' });
  expect(await fleet.findByWitness(WITNESS, 'a', live)).toBeNull();
});

test('C3: one that was let go is there for whoever takes it in, by another daemon too', async () => {
  const { fleet } = stand();
  await fleet.deprovisionMachine('a', live);
  await fleet.deprovisionMachine('b', live);
  expect((await fleet.getMachine('a', live)).id).toBe('a');
  await expect(fleet.getMachine('b', live)).rejects.toMatchObject({ kind: 'not-found' });
});
