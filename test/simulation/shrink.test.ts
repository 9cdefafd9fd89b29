import { describe, expect, it } from 'vitest';
import { drawPlan, type SimulationPlan, type PlannedFault } from './plan.ts';
import { shrinkPlan } from './shrink.ts';
import type { SimulationOutcome } from './simulation.ts';
import { tellStory } from './story.ts';

const HOUR_MS = 3_600_000;
const plan = drawPlan({ seed: 7, machines: 12, daemons: 3, hours: 6 });
const striking = (atMs: number): PlannedFault => ({ kind: 'agent-dies', atMs, figures: {} });
const many: SimulationPlan = {
  ...plan,
  strikes: Array.from({ length: 100 }, (_, at) => striking((at + 1) * 120_000)),
};

/** A run that breaks a rule when both strikes happen and there are enough daemons. */
const needing =
  (needed: readonly PlannedFault[], { daemons = 1, atMs = HOUR_MS } = {}) =>
  async (tried: SimulationPlan): Promise<SimulationOutcome> => {
    const breaks = needed.every((strike) => tried.strikes.includes(strike));
    const violation = { rule: 'bad', sentence: 'nothing bad happens', detail: 'bad', atMs };
    const violations = breaks && tried.daemons >= daemons ? [violation] : [];
    return { plan: tried, violations, trace: '', struck: {}, tally: {}, story: [], hours: 1 };
  };

describe('shrinkPlan', () => {
  it('finds the two strikes of a hundred that break the rule', async () => {
    const needed = [many.strikes[3]!, many.strikes[20]!];
    const found = await shrinkPlan(many, 'bad', { runsMax: 100, run: needing(needed) });
    expect(found!.plan).toMatchObject({
      strikes: needed,
      daemons: 1,
      machines: 1,
      shuffled: false,
    });
    expect(found!.plan.hours).toBeCloseTo(1, 1);
  });

  it('keeps the daemons that the violation needs', async () => {
    const found = await shrinkPlan(many, 'bad', { run: needing([], { daemons: 2 }) });
    expect(found!.plan).toMatchObject({ daemons: 2, strikes: [] });
  });

  it('stays within its limit of runs', async () => {
    let runs = 0;
    const run = needing([many.strikes[3]!, many.strikes[20]!]);
    await shrinkPlan(many, 'bad', { runsMax: 12, run: (tried) => ((runs += 1), run(tried)) });
    expect(runs).toBe(12);
  });

  it('finds nothing when the rule does not break again', async () => {
    expect(await shrinkPlan(many, 'another', { run: needing([]) })).toBeNull();
  });
});

it('tells a story with the strikes, the named machine and the rule', () => {
  const [one, other] = [1, 2].map((at) => `${at}0000000-0000-4000-8000-000000000000`);
  const atMs = HOUR_MS;
  const lines = tellStory({
    plan: { ...many, strikes: [] },
    violations: [{ rule: 'bad', sentence: 'nothing bad happens', detail: `${one} is bad`, atMs }],
    story: [
      '0:10:00 call-lost: daemon-1 bmdb.scan',
      '0:10:01 call-lost: daemon-1 bmdb.scan',
      `0:20:00   ${one} on stub/1: fellSilent`,
      `0:20:00   ${other} on stub/2: fellSilent`,
      '1:00:01 call-lost: daemon-1 bmdb.scan',
    ],
  });
  expect(lines).toEqual([
    '3 daemons, 12 machines, 0 strikes',
    '0:10:00 call-lost: daemon-1 bmdb.scan (2 times)',
    `0:20:00   ${one} on stub/1: fellSilent`,
    `1:00:00 bad (nothing bad happens): ${one} is bad`,
  ]);
});
