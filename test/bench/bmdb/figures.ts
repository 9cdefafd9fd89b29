import { median, rounded } from '../measure.ts';

/** Of each figure, one value a round. */
export type Samples = Map<string, number[]>;

export type Figures = ReturnType<typeof figuresOf>;

/**
 * What `--json` prints: rates per second, medians over the rounds.
 * @throws when a figure was not measured.
 */
export function figuresOf(samples: Samples, machine: Readonly<Record<string, string | number>>) {
  const all = (name: string): readonly number[] => {
    const values = samples.get(name);
    if (!values) throw new Error(`${name} was not measured`);
    return values;
  };
  const one = (name: string) => rounded(median(all(name)));
  const byCallers = (name: string) => ({
    1: one(`${name} 1`),
    10: one(`${name} 10`),
    50: one(`${name} 50`),
  });
  const quantiles = (name: string) => ({ p50: one(`${name} p50`), p99: one(`${name} p99`) });
  const ratio = (above: readonly number[], below: readonly number[]) =>
    rounded(median(above.map((value, round) => value / below[round]!)));
  const graphileBest = all('graphileWorkerBatched').map((value, round) =>
    Math.max(value, all('graphileWorkerSingle')[round]!),
  );
  const cycles = all('cycles 50');
  return {
    claims: byCallers('claims'),
    cycles: byCallers('cycles'),
    agentStartCycles: one('agentStartCycles'),
    heartbeats: { 1000: one('heartbeats 1000'), 10000: one('heartbeats 10000') },
    /** Of a claim, with 50 callers. */
    claimLatencyMs: quantiles('claimLatencyMs 50'),
    /** From the commit of a change to the view that tells of it. */
    mirrorLatencyMs: quantiles('mirrorLatencyMs'),
    peers: {
      graphileWorkerBatched: one('graphileWorkerBatched'),
      graphileWorkerSingle: one('graphileWorkerSingle'),
      pgBoss: one('pgBoss'),
      upsertFloor: one('upsertFloor'),
    },
    /** Medians of the ratios of each round, which a noisy machine disturbs least. */
    ratios: {
      cyclesAt50ToGraphileBest: ratio(cycles, graphileBest),
      /** The same question asked fairly: each of its jobs is completed in the database, alone. */
      cyclesAt50ToGraphileSingle: ratio(cycles, all('graphileWorkerSingle')),
      cyclesAt50ToPgBoss: ratio(cycles, all('pgBoss')),
      cycles50To10: ratio(cycles, all('cycles 10')),
      heartbeatsToFloor: ratio(all('heartbeats 10000'), all('upsertFloor')),
    },
    /** Of one small row each, on one connection: what the disk allows. */
    commits: one('commits'),
    machine,
  };
}

/** Every figure with its median, and the least and the most of the rounds. */
export function tableOf({ ratios, machine }: Figures, samples: Samples): string {
  const rows = [...samples].map(([name, values]) => [
    ...[name, median(values), Math.min(...values), Math.max(...values)].map(shown),
  ]);
  const lines = [['', 'median', 'least', 'most'], ...rows].map(([name = '', ...values]) =>
    [name.padEnd(26), ...values.map((value) => value.padStart(10))].join(''),
  );
  const facts = Object.entries({ ...ratios, ...machine }).map(
    ([name, value]) => `${name.padEnd(26)}${String(value).padStart(10)}`,
  );
  return [...lines, '', ...facts].join('\n');
}

const shown = (value: string | number): string =>
  typeof value === 'string' ? value : value.toFixed(value < 100 ? 2 : 0);
