import { expect, test } from 'vitest';
import { streamOf, type SimulationPlan } from './plan.ts';
import { runPlan } from './simulation.ts';
import { POOL_KINDS, STRIKES, STRIKE_KINDS } from './strikes.ts';

const MINUTE = 60_000;

/** Shortens a strike, because a machine that is already down cannot be hit. */
const soonOver = ({ forMs, ...figures }: Readonly<Record<string, number>>) =>
  forMs === undefined ? figures : { ...figures, forMs: Math.min(forMs, MINUTE) };

test('hits something with every kind of strike, and the fleet recovers from all of them', async () => {
  const random = streamOf(1, 'all kinds');
  // Strikes that need a healthy fleet come first.
  const kinds = [...POOL_KINDS, ...STRIKE_KINDS];
  const strikes = kinds.flatMap((kind, at) =>
    [0, 1, 2].map((turn) => ({
      kind,
      atMs: 20 * MINUTE + (turn * kinds.length + at) * 0.25 * MINUTE,
      figures: soonOver(STRIKES[kind].draw(random)),
    })),
  );
  const plan: SimulationPlan = {
    ...{ seed: 1, machines: 6, daemons: 2, hours: 1, locations: 2 },
    ...{ hasPool: true, spares: 0, hasWindows: false, shuffled: true, strikes },
  };
  const { struck, violations } = await runPlan(plan);
  expect(STRIKE_KINDS.filter((kind) => !struck[kind])).toEqual([]);
  expect(violations.map(({ rule, detail }) => `${rule}: ${detail}`)).toEqual([]);
});
