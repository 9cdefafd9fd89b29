import { expect, test } from 'vitest';
import { streamOf, type Plan } from './plan.ts';
import { runPlan } from './simulation.ts';
import { STRIKES, STRIKE_KINDS } from './strikes.ts';

const MINUTE = 60_000;

test('every kind of strike hits something, and a fleet recovers from all of them', async () => {
  const random = streamOf(1, 'all kinds');
  // What needs a fleet that is well comes last in the table, and so first here.
  const strikes = STRIKE_KINDS.toReversed().flatMap((kind, at) =>
    [0, 1].map((turn) => ({
      kind,
      atMs: 20 * MINUTE + (turn * STRIKE_KINDS.length + at) * 0.3 * MINUTE,
      figures: STRIKES[kind].draw(random),
    })),
  );
  const plan: Plan = {
    ...{ seed: 1, machines: 6, daemons: 2, hours: 1, locations: 2 },
    ...{ hasPool: true, shuffled: true, strikes },
  };
  const { struck, violations } = await runPlan(plan);
  expect(STRIKE_KINDS.filter((kind) => !struck[kind])).toEqual([]);
  expect(violations).toEqual([]);
});
