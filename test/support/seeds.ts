/**
 * The seed of everything that tests draw: properties, and the fleets that faults strike. Where `CI`
 * is set the seed is fixed, so that a change is judged by its own effects; otherwise each run draws
 * a new seed. The run prints its seed, and `SHEPHERD_TEST_SEED` repeats it; the value `fresh`
 * overrides `CI`.
 */
const NAME = 'SHEPHERD_TEST_SEED';
const FIXED = 1;
const SEEDS = 2 ** 31;

/** Runs before all test files, which inherit the environment. */
export function setup(): () => void {
  const seed = chooseSeed(process.env);
  process.env[NAME] = String(seed);
  return () => console.log(`Seed: ${NAME}=${seed} repeats what this run drew`);
}

/** The seed of a run with this environment. */
export function chooseSeed(env: NodeJS.ProcessEnv): number {
  const asked = env[NAME];
  if (asked !== undefined && asked !== 'fresh') return Number(asked);
  return asked === undefined && env['CI'] ? FIXED : Math.floor(Math.random() * SEEDS);
}

/** The seed of this run. */
export const testSeed = (): number => Number(process.env[NAME]);
