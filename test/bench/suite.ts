import { getBorderCharacters, table } from 'table';

/** A benchmark that `bench.ts` finds by the name of its file in `suites/`. */
export interface Suite {
  /** One line for `--help`. */
  readonly summary: string;
  run(options: SuiteOptions): Promise<Report>;
}

export interface SuiteOptions {
  /** How often everything is measured; the median counts. */
  readonly rounds: number;
  /** Length of one measurement, milliseconds. */
  readonly spanMs: number;
  /** Share of the usual number of machines and jobs, for a quick look (1). */
  readonly scale: number;
  /** For a person who waits; never on stdout. */
  readonly progress: (line: string) => void;
}

export interface Report {
  /** Printed by `--json`. */
  readonly json: Readonly<Record<string, unknown>>;
  /** Printed without it. */
  readonly table: string;
}

/** Rows of a name and a figure, without borders. */
export const textOf = (rows: readonly (readonly string[])[]): string =>
  table(rows, { border: getBorderCharacters('void') }).trimEnd();

/** The share of a number of machines or jobs that is asked for. */
export const scaled = (count: number, { scale }: Pick<SuiteOptions, 'scale'>, least = 1): number =>
  Math.max(least, Math.round(count * scale));
