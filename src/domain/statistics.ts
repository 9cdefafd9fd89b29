import type { ProviderName } from './ids.ts';
import { PROCESSES, type Process } from './machine.ts';

/** Numbers of machines by condition. */
export interface Counts {
  readonly machines: number;
  readonly provided: number;
  /** Machines with hardware and a current heartbeat. */
  readonly heartbeating: number;
  readonly installationPending: number;
  /** Successfully installed machines. */
  readonly installed: number;
  readonly installationFailed: number;
  /** Machines whose agent may be started now. */
  readonly pendingAgentStart: number;
  /** Machines for the ladder: lost, given up, or cooling down between two attempts. */
  readonly pendingRecovery: number;
  /** Live work, by process. */
  readonly activeWork: Readonly<Record<Process, number>>;
  /** Current backoffs, by process. */
  readonly activeBackoffs: Readonly<Record<Process, number>>;
}

/** Separately counted parts: conditions of machines, live work, current backoffs. */
export const STATISTICS_PARTS = ['machines', 'work', 'backoffs'] as const;
export type StatisticsPart = (typeof STATISTICS_PARTS)[number];

export interface Statistics {
  readonly fleet: Counts;
  /** Leaves out machines without hardware. */
  readonly providers: ReadonlyMap<ProviderName, Counts>;
}

/** One count for every process. */
export const byProcess = (count: (process: Process) => number): Record<Process, number> =>
  Object.fromEntries(PROCESSES.map((process) => [process, count(process)])) as Record<
    Process,
    number
  >;
