import { expect, it } from 'vitest';
import { drawPlan } from './plan.ts';
import { runPlan } from './simulation.ts';
import { SITUATIONS, situationsIn } from './sometimes.ts';

const SIZE = { machines: 6, daemons: 2, hours: 2 };

it('breaks no rule, and leaves the same trace twice', async () => {
  const plan = drawPlan({ ...SIZE, seed: 2 });
  const first = await runPlan(plan);
  expect(first.violations).toEqual([]);
  expect(situationsIn(first.tally)).toContain('silent');
  const { trace, tally } = await runPlan(plan);
  expect({ trace, tally }).toEqual({ trace: first.trace, tally: first.tally });
});

it('draws the same plan from the same seed, and others from others', () => {
  expect(drawPlan({ ...SIZE, seed: 1 })).toEqual(drawPlan({ ...SIZE, seed: 1 }));
  expect(drawPlan({ ...SIZE, seed: 2 }).strikes).not.toEqual(
    drawPlan({ ...SIZE, seed: 1 }).strikes,
  );
});

it('asks for at least 60 situations', () => {
  expect(Object.keys(SITUATIONS).length).toBeGreaterThanOrEqual(60);
});
