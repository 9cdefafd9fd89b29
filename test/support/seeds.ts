/**
 * The seed of everything that tests draw: properties, and the fleets that faults strike. Where `CI` is set
 * it is always the same, so that a change is judged by what it changed; else it is a fresh one. The
 * run prints its seed, and `SHEPHERD_TEST_SEED` repeats it; `fresh` asks for a new one in spite of `CI`.
 */
const NAME = 'SHEPHERD_TEST_SEED';
const FIXED = 1;
const SEEDS = 2 ** 31;

/** Before all test files, which inherit the environment. */
export function setup(): () => void {
  const seed = chooseSeed(process.env);
  process.env[NAME] = String(seed);
  return () => console.log(`Seed: ${NAME}=${seed} repeats what this run drew`);
}

/** The seed that a run with this environment has. */
export function chooseSeed(env: NodeJS.ProcessEnv): number {
  const asked = env[NAME];
  if (asked !== undefined && asked !== 'fresh') return Number(asked);
  return asked === undefined && env['CI'] ? FIXED : Math.floor(Math.random() * SEEDS);
}

/** The seed of this run. */
export const testSeed = (): number => Number(process.env[NAME]);
