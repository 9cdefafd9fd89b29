import type { MachineState } from '../domain/states.ts';

/** What a daemon saw during one step. */
export interface Sample {
  /** When the step ended, epoch ms of the database clock. */
  readonly atMs: number;
  /** Machines by state then; states without machines are left out. */
  readonly counts: Readonly<Partial<Record<MachineState, number>>>;
  /** Machines of state `Running` that were silent then. */
  readonly silent: number;
  /** Heartbeats that it took in during the step. */
  readonly heartbeats: number;
  /** Machines that came to be recovered during the step. */
  readonly recoveries: number;
}

/** The last hour, as far as this daemon ran then. */
export interface SeriesView {
  /** Length of a step, ms. */
  readonly stepMs: number;
  /** Oldest first; at most an hour of them. */
  samples(): readonly Sample[];
}

/** Nothing was seen. */
export const NO_SERIES: SeriesView = { stepMs: 10_000, samples: () => [] };
