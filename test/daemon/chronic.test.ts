import { expect, it } from 'vitest';
import { requestFor, targetOf } from '../contracts/requests-of.ts';
import type { SimulatedMachine } from '../doubles/mem-machines.ts';
import { advance, createSeededRandom } from '../doubles/simulated-clock.ts';
import { createPlayedWorld } from '../support/played-world.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

it('recovers a machine that fails every other hour four times, and then asks a person', async () => {
  const world = createPlayedWorld({
    seed: 1,
    locations: { hall: 4 },
    config: { provisioner: { maxMachines: 0 } },
  });
  const pass = (ms: number) => advance(world.clock, ms);
  const played = await world.start({ name: 'one', random: createSeededRandom(1) });
  const { board } = played.daemon;
  await pass(HOUR);
  expect(board.counts()).toEqual({ Running: 4 });
  const [[address, sick]] = [...world.hosts] as unknown as [[string, SimulatedMachine]];
  const rowOf = () =>
    [...world.bmdb.tables.machines.values()].find(
      ({ row }) => `${row.provided!.address}:22` === address,
    )!.row;
  const placeOf = () => {
    const entry = [...board.entries.values()].find(
      ({ view }) => view.machineId === rowOf().machineId,
    )!;
    return `${entry.state} ${entry.substate}`;
  };

  for (const time of [1, 2, 3, 4]) {
    sick.killAgent();
    await pass(2 * HOUR);
    expect([placeOf(), sick.executions]).toEqual(['Running healthy', 1 + time]);
  }
  sick.killAgent();
  await pass(2 * HOUR);
  expect(placeOf()).toBe('Quarantined needsHuman');
  expect(rowOf().quarantine).toMatchObject({
    cause: 'chronic',
    reason: expect.stringMatching(/^it is chronic: it was recovered 4 times within 7d and fails/),
  });
  expect(sick.executions).toBe(5);
  expect(board.counts()).toEqual({ Running: 3, Quarantined: 1 });

  // Its recoveries are forgotten: the machine is started again.
  const target = targetOf(rowOf());
  await world.bmdb.requests.submit(requestFor({ verb: 'release', target, forgetHostKey: false }));
  await pass(HOUR);
  expect([placeOf(), sick.executions]).toEqual(['Running healthy', 6]);
  await Promise.all([played.daemon.stop(), pass(MINUTE)]);
  world.end();
});
