import type { SimulationPlan, PlannedFault } from './plan.ts';
import { runPlan, type SimulationOutcome } from './simulation.ts';

const HOUR_MS = 3_600_000;
/** A shorter run still continues for this long after the violation. */
const AFTER_MS = 60_000;

/**
 * Searches a smaller plan that breaks the same rule: without randomness, with fewer daemons and
 * machines, and, by delta debugging, with as few strikes as possible.
 * @param runsMax maximum number of runs of the search.
 * @returns the smallest run found; null: no run broke the rule again.
 */
export async function shrinkPlan(
  plan: SimulationPlan,
  rule: string,
  { runsMax = 40, run = runPlan }: { runsMax?: number; run?: typeof runPlan } = {},
): Promise<SimulationOutcome | null> {
  let found: SimulationOutcome | null = null;
  let best = plan;
  let runs = 0;
  async function breaks(change: Partial<SimulationPlan>): Promise<boolean> {
    if (runs >= runsMax) return false;
    runs += 1;
    const outcome = await run({ ...best, ...change }, { stopsAtFirst: true });
    const violation = outcome.violations.find((each) => each.rule === rule);
    if (!violation) return false;
    found = outcome;
    best = endingAt(outcome.plan, violation.atMs + AFTER_MS);
    return true;
  }

  if (!(await breaks({}))) return null;
  await breaks({ strikes: [] });
  await breaks({ shuffled: false });
  for (const daemons of [1, 2].filter((count) => count < plan.daemons)) {
    if (await breaks({ daemons })) break;
  }
  for (const machines of [1, 2, 4, 8].filter((count) => count < plan.machines)) {
    if (await breaks({ machines, locations: 1 })) break;
  }
  for (let parts = 2; best.strikes.length > 0 && runs < runsMax;) {
    const { strikes } = best;
    const size = Math.ceil(strikes.length / parts);
    let isSmaller = false;
    for (let from = 0; from < strikes.length && !isSmaller; from += size) {
      isSmaller = await breaks({ strikes: without(strikes, from, size) });
    }
    if (isSmaller) parts = Math.max(2, parts - 1);
    else if (size === 1) break;
    else parts = Math.min(strikes.length, 2 * parts);
  }
  return found;
}

const without = (
  strikes: readonly PlannedFault[],
  from: number,
  size: number,
): readonly PlannedFault[] => [...strikes.slice(0, from), ...strikes.slice(from + size)];

/** Drops strikes after this time, unless the violation happened while the fleet was healed. */
function endingAt(plan: SimulationPlan, endMs: number): SimulationPlan {
  if (endMs >= plan.hours * HOUR_MS) return plan;
  const strikes = plan.strikes.filter(({ atMs }) => atMs < endMs);
  return { ...plan, hours: endMs / HOUR_MS, strikes };
}
