import { expect, test } from 'vitest';
import { machineId } from '../../src/domain/ids.ts';
import { newMachine } from '../doubles/mem-bmdb/tables.ts';
import { machineRow, PROVIDER, provided } from './facts.ts';
import { watchInvariants } from './invariants.ts';
import { createPlayedWorld } from './played-world.ts';

const open = () => {
  const world = createPlayedWorld({ locations: { hall: 2 }, seed: 1 });
  const watch = watchInvariants(world);
  const { tables } = world.bmdb;
  const add = (n: number, providerId: string) => {
    const id = machineId(`eeeeeeee-0000-4000-8000-00000000000${n}`);
    const row = machineRow({ machineId: id, provided: provided({ providerId, location: 'hall' }) });
    const machine = newMachine(row);
    tables.machines.set(id, machine);
    return machine;
  };
  const session = () =>
    world.bmdb.openSession({ component: 'shepherd', runtimeInfo: '', intervalMs: 10_000 });
  return { world, watch, add, session };
};

test('what is in order is not told', () => {
  const { world, watch, add } = open();
  add(1, 'a').permitGrantedAtMs = 1;
  add(2, 'b');
  // A stranger's device.
  world.provider.snatch(world.provider.reservationIds()[0]!);
  watch.look();
  expect(watch.broken).toEqual([]);
});

test('two machines of one device, a stranger of ours, two workers, and too many permits are told', async () => {
  const { world, watch, add, session } = open();
  for (const n of [1, 2]) add(n, 'a').permitGrantedAtMs = 1;
  const sessions = await Promise.all([session(), session()]);
  const [machine] = world.bmdb.tables.machines.values();
  const lease = { machineId: machine!.row.machineId, process: 'ShepherdRecovery', epoch: '1' };
  machine!.leases = sessions.map(({ sessionId }) => ({ ...lease, sessionId }) as never);
  const stranger = world.provider.snatch(world.provider.reservationIds()[0]!);
  world.provider.setOwner(stranger, world.config.providers[PROVIDER]!.instanceSetId);
  watch.look();
  expect(watch.broken.map((text) => text.slice(0, 11))).toEqual([
    'invariant 1',
    'invariant 2',
    'invariant 3',
    'invariant 5',
    'invariant 5',
  ]);
});

test('a reboot of a machine that is well, by a daemon that does not hold it, is told', async () => {
  const { world, watch, add } = open();
  const machine = add(1, 'a');
  machine.row = { ...machine.row, heartbeat: { atMs: world.clock.now(), bootId: null } };
  const { driven } = watch.ports();
  const provider = driven!(
    { rebootMachine: async () => ({ operationRef: '' }) } as never,
    {} as never,
  );
  await provider.rebootMachine('a', 'force', {} as never);
  expect(watch.broken.map((text) => text.slice(0, 11))).toEqual(['invariant 3', 'invariant 4']);
  expect(watch.deeds).toBe(1);
});
