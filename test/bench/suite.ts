import { median, rounded } from './measure.ts';

/** A benchmark that `bench.ts` finds by the name of its file in `suites/`. */
export interface Suite {
  /** One line for `--help`. */
  readonly summary: string;
  /** @returns figures by name, in groups. `--json` prints them as they are. */
  run(options: SuiteOptions): Promise<object>;
}

export interface SuiteOptions {
  /** Number of rounds; the median counts. */
  readonly rounds: number;
  /** Length of one measurement, milliseconds. */
  readonly spanMs: number;
  /** Share of the usual number of machines and jobs, for a quick run (1). */
  readonly scale: number;
  /** Progress for a waiting person; never on stdout. */
  readonly progress: (line: string) => void;
}

/** The requested share of a number of machines or jobs. */
export const scaled = (count: number, { scale }: Pick<SuiteOptions, 'scale'>, least = 1): number =>
  Math.max(least, Math.round(count * scale));

/** Measures once per round. Every figure of the result is the median of the rounds. */
export async function inRounds<T extends object>(
  { rounds, progress }: SuiteOptions,
  measure: (round: number) => T | Promise<T>,
): Promise<T> {
  const samples: T[] = [];
  for (let round = 1; round <= rounds; round += 1) {
    const found = await measure(round);
    progress(`round ${round}/${rounds}: ${JSON.stringify(roundedOf(found))}`);
    samples.push(found);
  }
  return mediansOf(samples) as T;
}

/** Rounds each number to three significant figures. */
export const roundedOf = <T extends object>(figures: T): T => mediansOf([figures]) as T;

function mediansOf(samples: readonly unknown[]): unknown {
  const [first] = samples;
  if (typeof first === 'number') return rounded(median(samples as number[]));
  if (typeof first !== 'object' || first === null) return first;
  const of = (name: string) =>
    mediansOf(samples.map((each) => (each as Record<string, unknown>)[name]));
  return Object.fromEntries(Object.keys(first).map((name) => [name, of(name)]));
}

/** Runs with a resource that is closed at the end. */
export async function withOpen<Open extends { close(): Promise<void> | void }, T>(
  opening: Promise<Open>,
  use: (open: Open) => Promise<T>,
): Promise<T> {
  const open = await opening;
  try {
    return await use(open);
  } finally {
    await open.close();
  }
}

/** One line per figure. */
export function textOf(figures: object): string {
  const lines = linesOf(figures);
  const width = Math.max(...lines.map(([name]) => name.length));
  return lines.map(([name, value]) => `${name.padEnd(width)}  ${value}`).join('\n');
}

const linesOf = (figures: object, group = ''): [name: string, value: string][] =>
  Object.entries(figures).flatMap(([name, value]: [string, unknown]) =>
    typeof value === 'object' && value !== null
      ? linesOf(value, `${group}${name} `)
      : [[group + name, String(value)]],
  );
