import { expect, it } from 'vitest';
import { drawPlan, type PlannedFault } from './plan.ts';
import { runPlan } from './simulation.ts';
import { DEADLY } from './strikes/daemons.ts';
import { SITUATIONS, situationsIn } from './sometimes.ts';

/** Calls of a creation, as `DEADLY` lists them. */
const CREATION = [
  ...['bmdb.session.intents.open', 'bmdb.session.intents.progress', 'bmdb.session.intents.adopt'],
  'provider.createMachine',
].map((path) => (DEADLY.indexOf(path) + 0.5) / DEADLY.length);
const SIZE = { machines: 6, daemons: 2, hours: 2 };

it('breaks no rule, and leaves the same trace twice', async () => {
  const plan = drawPlan({ ...SIZE, hours: 1, seed: 8 });
  const first = await runPlan(plan);
  expect(first.violations).toEqual([]);
  expect(situationsIn(first.tally)).toContain('silent');
  const { trace, tally } = await runPlan(plan);
  expect({ trace, tally }).toEqual({ trace: first.trace, tally: first.tally });
});

it('creates no device twice and leaks none when daemons die during creations', async () => {
  // One death after the other, in each call of a creation, before and after its effect.
  const calls = CREATION.flatMap((path) => [0, 0.4, 0.8].map((point) => ({ path, point })));
  const strikes = calls.map(({ path, point }, at): PlannedFault => {
    const figures = { which: (at % 2) / 2, path, point, forMs: 1_000, skip: 0 };
    return { kind: 'daemon-dies-in-a-call', atMs: at * 10_000, figures };
  });
  const plan = { ...drawPlan({ ...SIZE, seed: 1 }), machines: 36, hours: 1, strikes };
  const { violations, tally, struck } = await runPlan(plan);
  expect(violations).toEqual([]);
  expect(struck['call-dies-after']).toBeGreaterThan(2);
  expect(situationsIn(tally)).toEqual(
    expect.arrayContaining(['creation-taken-up', 'device-adopted']),
  );
});

it('draws equal plans from equal seeds and different plans from different seeds', () => {
  expect(drawPlan({ ...SIZE, seed: 1 })).toEqual(drawPlan({ ...SIZE, seed: 1 }));
  expect(drawPlan({ ...SIZE, seed: 2 }).strikes).not.toEqual(
    drawPlan({ ...SIZE, seed: 1 }).strikes,
  );
});

it('requires at least 60 situations', () => {
  expect(Object.keys(SITUATIONS).length).toBeGreaterThanOrEqual(60);
});
