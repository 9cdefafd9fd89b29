import type { ProviderName } from './ids.ts';
import { PROCESSES, type Process } from './machine.ts';

/** How many machines are in which condition; all counts are of machines. */
export interface Counts {
  readonly machines: number;
  readonly provided: number;
  /** Provided, with a current heartbeat. */
  readonly heartbeating: number;
  readonly installationPending: number;
  /** Installed with success. */
  readonly installed: number;
  readonly installationFailed: number;
  /** An agent may be started now. */
  readonly pendingAgentStart: number;
  /** Machines for the ladder: lost, given up, or cooling down between two attempts. */
  readonly pendingRecovery: number;
  /** Live work, by process. */
  readonly activeWork: Readonly<Record<Process, number>>;
  /** Waits that have not ended, by process. */
  readonly activeBackoffs: Readonly<Record<Process, number>>;
}

/** What is counted by itself: conditions of machines, live work, waits that have not ended. */
export const STATISTICS_PARTS = ['machines', 'work', 'backoffs'] as const;
export type StatisticsPart = (typeof STATISTICS_PARTS)[number];

export interface Statistics {
  readonly fleet: Counts;
  /** Machines without hardware are in none of them. */
  readonly providers: ReadonlyMap<ProviderName, Counts>;
}

/** A count for every process. */
export const byProcess = (count: (process: Process) => number): Record<Process, number> =>
  Object.fromEntries(PROCESSES.map((process) => [process, count(process)])) as Record<
    Process,
    number
  >;
