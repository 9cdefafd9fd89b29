import { expect, it } from 'vitest';
import { requestFor, targetOf } from '../contracts/requests-of.ts';
import { advance, createSeededRandom } from '../doubles/simulated-clock.ts';
import { createPlayedWorld } from '../support/played-world.ts';
import type { SimulatedMachine } from '../doubles/mem-machines.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

it('opens one case for a machine that never comes back, however many daemons run', async () => {
  const world = createPlayedWorld({
    seed: 1,
    locations: { hall: 5 },
    config: { provisioner: { maxMachines: 0 } },
  });
  const pass = (ms: number) => advance(world.clock, ms);
  const start = (name: string, seed: number) =>
    world.start({ name, random: createSeededRandom(seed) });
  const daemons = await Promise.all([start('one', 1), start('two', 2)]);
  await pass(HOUR);
  const { cases, caseLines, machines, told } = world.bmdb.tables;
  expect([cases, caseLines]).toEqual([[], []]);
  const [[address, sick]] = [...world.hosts] as unknown as [[string, SimulatedMachine]];
  const rowOf = () =>
    [...machines.values()].find(({ row }) => `${row.provided!.address}:22` === address)!.row;
  // Its system answers, but no agent starts on it.
  const works = sick.run;
  sick.run = () => ({ exitCode: 127 });
  sick.killAgent();
  await pass(12 * HOUR);
  const { quarantine, provided, machineId } = rowOf();
  expect(quarantine).toMatchObject({ kind: 'needsHuman' });
  const open = { closedAtMs: null, openedBy: 'shepherd' };
  const all = () => world.bmdb.tables.cases;
  expect(all()).toMatchObject([
    {
      ...{ ...open, machineId, slotId: provided!.reservationId },
      title: expect.stringMatching(/^2 attempts at switching it off and on did not help/),
    },
  ]);
  const evidence = world.bmdb.tables.caseLines;
  expect(evidence.filter(({ kind }) => kind === 'evidence-before')).toHaveLength(1);
  expect(evidence).toMatchObject(evidence.map(() => ({ slotId: provided!.reservationId })));
  const openings = () => told.filter(({ type }) => type === 'case.opened').length;
  expect(openings()).toBe(1);

  await world.bmdb.cases.close(all()[0]!.caseId, { by: 'jo', outcome: 'new mainboard' });
  await pass(HOUR);
  expect(openings(), 'a person closed it').toBe(1);
  const target = targetOf(rowOf());
  await world.bmdb.requests.submit(requestFor({ verb: 'release', target, forgetHostKey: false }));
  await pass(12 * HOUR);
  expect(all(), 'it fails again').toMatchObject([{ outcome: 'new mainboard' }, open]);

  Object.assign(sick, { run: works });
  await world.bmdb.requests.submit(requestFor({ verb: 'release', target, forgetHostKey: false }));
  await pass(HOUR);
  expect(rowOf().acceptance).toMatchObject({ state: 'passed', cause: 'repaired' });
  expect(all(), 'it is repaired').toMatchObject([{}, { closedBy: 'acceptance' }]);
  await pass(12 * HOUR);
  expect(openings()).toBe(2);

  await Promise.all([...daemons.map(({ daemon }) => daemon.stop()), pass(MINUTE)]);
  world.end();
});
