import { afterEach, expect, test } from 'vitest';
import { advance } from '../doubles/simulated-clock.ts';
import { createPlayedWorld, type PlayedWorld } from '../support/played-world.ts';
import { requestFor } from '../contracts/requests-of.ts';

/** A fleet whose machines are checked by their agents before they serve, in virtual time. */

const MINUTE = 60_000;
const worlds: PlayedWorld[] = [];
afterEach(() => worlds.splice(0).forEach((world) => world.end()));

/** Two machines and a pool. The profile wants 64 GiB. */
async function playedFleet(required: boolean, memoryGiB: number | null) {
  const world = createPlayedWorld({
    ...{ seed: 5, locations: { hall: 2 }, hasPool: true, minActive: 0 },
    ofProvider: { acceptance: { memoryGiB: 64, required } },
  });
  worlds.push(world);
  const { daemon } = await world.start({ name: 'one' });
  // Before any agent is started on it.
  while (world.hosts.size < 2) await advance(world.clock, 1_000);
  const [bad] = [...world.hosts.values()];
  bad!.memoryGiB = memoryGiB;
  await advance(world.clock, 20 * MINUTE);
  const slots = () =>
    [...world.bmdb.tables.machines.values()].map(({ row }) => ({
      ...{ row, state: row.acceptance!.state, serves: row.members.length > 0 },
    }));
  const states = () =>
    slots()
      .map(({ state, serves }) => `${state} ${serves ? 'serves' : 'out'}`)
      .toSorted();
  const lines = () => world.bmdb.tables.events.map(({ kind }) => kind);
  const stop = () => Promise.all([daemon.stop(), advance(world.clock, MINUTE)]);
  return { world, daemon, bad: bad!, slots, states, lines, stop };
}

test('a machine with too little memory stays out of its pool until it is accepted', async () => {
  const { world, daemon, bad, slots, states, lines, stop } = await playedFleet(true, 32);
  expect(states()).toEqual(['failed out', 'passed serves']);
  const { row } = slots().find(({ state }) => state === 'failed')!;
  const [entry] = [...daemon.board.entries.values()].filter(
    ({ view }) => view.machineId === row.machineId,
  );
  expect(entry).toMatchObject({ state: 'Running', view: { holds: ['no-serve'] } });
  const { conditions } = world.bmdb.tables;
  expect([...conditions.values()].map(({ type, status }) => `${type} ${status}`)).toEqual([
    'acceptance-failed True',
  ]);
  bad.memoryGiB = 64;
  await advance(world.clock, 10 * MINUTE);
  expect(states(), 'nobody asked again').toEqual(['failed out', 'passed serves']);
  const { provider, reservationId, providerId } = row.provided!;
  const target = { provider, slotId: reservationId ?? providerId, machineId: row.machineId };
  await world.bmdb.requests.submit(requestFor({ verb: 'accept', target }, { reason: 'new DIMM' }));
  await advance(world.clock, 10 * MINUTE);
  expect(states()).toEqual(['passed serves', 'passed serves']);
  expect(lines()).not.toContain('recoveryAsked');
  await stop();
});

test('a failed acceptance only tells where it is not required', async () => {
  const { states, stop } = await playedFleet(false, 32);
  expect(states()).toEqual(['failed serves', 'passed serves']);
  await stop();
});

test('an agent that cannot run the checks keeps a machine out where they are required', async () => {
  const { states, lines, world, stop } = await playedFleet(true, null);
  await advance(world.clock, 60 * MINUTE);
  expect(states()).toEqual(['due out', 'passed serves']);
  expect(lines()).not.toContain('recoveryAsked');
  await stop();
});
