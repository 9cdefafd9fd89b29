import { expect, test } from 'vitest';
import { newMachine } from '../doubles/mem-bmdb/tables.ts';
import { machineId, providerName, slot } from '../../src/domain/ids.ts';
import { machineRow, provided, PROVIDER } from '../support/facts.ts';
import { createSmallWorld, type SmallWorld } from '../support/small-world.ts';
import { advance } from '../doubles/simulated-clock.ts';

const ELSEWHERE = providerName('elsewhere');
const MINUTE = 60_000;

/** Machines of a provider that another daemon looks after: one without agent, one silent. */
function givenStrangers({ bmdb, clock }: SmallWorld) {
  const strange = (name: string) =>
    provided({ provider: ELSEWHERE, providerId: name, reservationId: name });
  const add = (at: number, change: Parameters<typeof machineRow>[0]) => {
    const id = machineId(`eeeeeeee-0000-4000-8000-00000000000${at}`);
    const times = { createdAtMs: clock.now() - 120 * MINUTE };
    bmdb.tables.machines.set(id, newMachine(machineRow({ machineId: id, ...times, ...change })));
    return id;
  };
  const lost = { atMs: clock.now() - 90 * MINUTE, publicKey: 'ab'.repeat(32), bootId: 'b' };
  return [
    add(1, { provided: strange('fresh') }),
    add(2, { provided: strange('silent'), agentStarted: lost }),
  ];
}

test('machines of a provider that is not configured here are shown and left alone', async () => {
  const world = createSmallWorld({ machines: 2 });
  const { bmdb, clock } = world;
  const strangers = givenStrangers(world);
  const before = strangers.map((id) => bmdb.tables.machines.get(id)!.row);
  await world.fleet();
  await advance(clock, 15 * MINUTE);

  expect(strangers.map((id) => bmdb.tables.machines.get(id)!.row)).toEqual(before);
  const { views } = world;
  expect(bmdb.tables.history.filter(({ machineId: id }) => strangers.includes(id))).toEqual([]);
  const reason = 'provider elsewhere is not configured here';
  expect(views.get(slot(ELSEWHERE, 'fresh'))).toMatchObject({
    state: 'Provisioned',
    substate: 'waiting',
    next: null,
    reason,
  });
  expect(views.get(slot(ELSEWHERE, 'silent'))).toMatchObject({
    state: 'Running',
    substate: 'silent',
    next: null,
    reason,
  });
  const own = [...views.values()].filter(({ provider }) => provider === PROVIDER);
  expect(own.map(({ state, substate }) => `${state} ${substate}`)).toEqual([
    'Running healthy',
    'Running healthy',
  ]);
});
