import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Mutation } from '../test/mutations/mutation.ts';

/** Mutation lists of deciding code; the database is a double, so SQL is not reached. */
export const CORE: readonly string[] = [
  ...['actors', 'balancer-turns', 'bring-up', 'chart-traps', 'domain', 'faults', 'fleet-charts'],
  ...['fleet-parts', 'lifecycle', 'lifecycle-setup', 'recovery', 'supervisor-traps', 'tasks'],
];

/** Small, so that a run takes seconds; two daemons, because most mistakes need another daemon. */
const SIZE = ['--machines', '6', '--daemons', '2', '--hours', '2'];
const BASELINE_LIMIT_S = 900;
/** A mutated run that takes this many times longer than a normal one counts as endless. */
const PATIENCE = 5;

type Verdict = 'killed' | 'late' | 'survived' | 'broken';
type Spawn = (
  copy: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  limitS: number,
) => Promise<{ readonly code: number | null; readonly output: string }>;

/** Decides whether simulation runs notice a mutation. */
export interface SimulationJudge {
  /** @param original the unmutated text of the file. */
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
/** A seed without violations, its duration, and its code coverage by file. */
interface Seed {
  readonly seed: number;
  readonly tookS: number;
  readonly ranges: ReadonlyMap<string, readonly Range[]>;
}

/** Plays the seeds without a mutation first; seeds that break a rule are not used. */
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
    else console.log(`seed ${seed} breaks a rule without a mutation, and is not used`);
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
      // A run that began and crashed also noticed the mutation.
      return /^\d+ runs, seeds/m.test(output) ? 'killed' : 'broken';
    },
  };
}

/** Position of the first change in the file. */
function offsetOf({ find, replace }: Mutation, original: string): number {
  const same = Array.from(find).findIndex((char, at) => char !== replace[at]);
  return original.indexOf(find) + Math.max(0, same);
}

/** The innermost range around a position shows whether it was executed. */
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
