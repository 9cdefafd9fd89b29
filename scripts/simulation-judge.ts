import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Mutation } from '../test/mutations/mutation.ts';

/** The lists of mistakes in what decides; those in their SQL are not reached, as the database is a double. */
export const CORE: readonly string[] = [
  ...['actors', 'balancer-turns', 'bring-up', 'chart-traps', 'domain', 'faults', 'fleet-charts'],
  ...['fleet-parts', 'lifecycle', 'lifecycle-setup', 'recovery', 'supervisor-traps', 'tasks'],
];

/** Small enough that a mutation is judged in seconds; two daemons, as most mistakes need another one. */
const SIZE = ['--machines', '6', '--daemons', '2', '--hours', '2'];
const BASELINE_LIMIT_S = 900;
/** A run with a mutation that takes so many times longer than one without will not end. */
const PATIENCE = 5;

type Verdict = 'killed' | 'late' | 'survived' | 'broken';
type Spawn = (
  copy: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  limitS: number,
) => Promise<{ readonly code: number | null; readonly output: string }>;

/** Tells whether runs of the simulation notice a mutation. */
export interface SimulationJudge {
  /** @param original text of the file that is mutated in the copy. */
  judge(copy: string, mutation: Mutation, original: string): Promise<Verdict>;
}

interface Range {
  readonly startOffset: number;
  readonly endOffset: number;
  readonly count: number;
}
interface Coverage {
  readonly result: readonly {
    readonly url: string;
    readonly functions: readonly { readonly ranges: readonly Range[] }[];
  }[];
}
/** A seed that breaks no rule without a mutation, how long it takes, and what it executes by file. */
interface Seed {
  readonly seed: number;
  readonly tookS: number;
  readonly ranges: ReadonlyMap<string, readonly Range[]>;
}

/** Plays the seeds without a mutation first: those that break a rule then judge nothing. */
export async function createSimulationJudge(
  copy: string,
  count: number,
  spawn: Spawn,
): Promise<SimulationJudge> {
  const play = (where: string, seeds: readonly number[], env: NodeJS.ProcessEnv, limitS: number) =>
    spawn(
      where,
      [
        ...['scripts/simulate.ts', '--seeds', seeds.join(','), ...SIZE],
        ...['--jobs', '1', '--first', '--no-shrink', '--json'],
      ],
      env,
      limitS,
    );
  const good: Seed[] = [];
  for (let seed = 1; seed <= count; seed += 1) {
    const NODE_V8_COVERAGE = mkdtempSync(join(tmpdir(), 'shepherd-reach-'));
    const begunAt = performance.now();
    const { code } = await play(copy, [seed], { NODE_V8_COVERAGE }, BASELINE_LIMIT_S);
    const tookS = (performance.now() - begunAt) / 1_000;
    if (code === 0) good.push({ seed, tookS, ranges: rangesIn(copy, NODE_V8_COVERAGE) });
    else console.log(`seed ${seed} breaks a rule without a mutation, and judges nothing`);
    rmSync(NODE_V8_COVERAGE, { recursive: true });
  }
  return {
    async judge(where, mutation, original) {
      const reaching = good
        .filter(({ ranges }) =>
          isReached(ranges.get(mutation.file) ?? [], offsetOf(mutation, original)),
        )
        .toSorted((a, b) => a.tookS - b.tookS);
      if (reaching.length === 0) return 'survived';
      const limitS = PATIENCE * reaching.reduce((sum, { tookS }) => sum + tookS, 0);
      const { code, output } = await play(
        where,
        reaching.map(({ seed }) => seed),
        {},
        limitS,
      );
      if (code === 0) return 'survived';
      if (code === null) return 'late';
      // A run that was begun and crashed has noticed the mutation, too.
      return /^\d+ runs, seeds/m.test(output) ? 'killed' : 'broken';
    },
  };
}

/** Where the first change stands in the file. */
function offsetOf({ find, replace }: Mutation, original: string): number {
  const same = Array.from(find).findIndex((char, at) => char !== replace[at]);
  return original.indexOf(find) + Math.max(0, same);
}

/** The innermost range around a place tells whether it was executed. */
const isReached = (ranges: readonly Range[], offset: number): boolean =>
  (ranges
    .filter(({ startOffset, endOffset }) => startOffset <= offset && offset < endOffset)
    .toSorted((a, b) => a.endOffset - a.startOffset - (b.endOffset - b.startOffset))[0]?.count ??
    0) > 0;

function rangesIn(copy: string, directory: string): ReadonlyMap<string, readonly Range[]> {
  const ranges = new Map<string, readonly Range[]>();
  for (const file of globSync('*.json', { cwd: directory })) {
    const { result } = JSON.parse(readFileSync(join(directory, file), 'utf8')) as Coverage;
    for (const { url, functions } of result) {
      const [, path] = url.split(`${copy}/`);
      if (path?.startsWith('src/'))
        ranges.set(
          path,
          functions.flatMap((each) => each.ranges),
        );
    }
  }
  return ranges;
}
