import type { DaemonRoles } from '../../domain/daemons.ts';
import type { Processor } from '../../domain/processor.ts';
import type { HardwareSums } from '../../domain/hardware-sums.ts';
import type { Statistics, StatisticsPart } from '../../domain/statistics.ts';

/** What is read of the fleet for its statistics, each by itself. */
export type StatisticsQuery = StatisticsPart | 'hardware';

/** What the janitor removed, by kind. */
export interface Removed {
  readonly session: number;
  readonly work: number;
  readonly permit: number;
  readonly history: number;
}

/** How the daemon itself stands. Ages are seconds, moments epoch ms. */
export interface DaemonFigures {
  readonly roles: DaemonRoles;
  /** The checks of `/readyz`. */
  readonly ready: Readonly<Record<string, boolean>>;
  /** Until the session counts as dead; 0 when there is none. */
  readonly sessionSeconds: number;
  /** So long no event was told, though there are some; 0: all are told. */
  readonly eventsWaitingSeconds: number;
  /** Of a loop that never succeeded, since when it should have; null: it does not run here. */
  readonly loops: readonly { readonly loop: string; readonly lastSuccessAtMs: number | null }[];
  /** Tasks under way, by kind. */
  readonly workers: Readonly<Record<string, number>>;
  /** Machines that take far longer than they may. */
  readonly overdue: readonly {
    readonly provider: string;
    readonly state: string;
    readonly count: number;
  }[];
  readonly providers: readonly {
    readonly provider: string;
    /** Of its last listing here; of the daemon when there was none yet. Null: it lists nothing. */
    readonly listingSeconds: number | null;
    /** Of the oldest creation that is not settled; 0 when there is none. */
    readonly oldestIntentSeconds: number;
    /** This daemon provisions it: what it said of the provider while it did counts no longer else. */
    readonly isOurs: boolean;
  }[];
  readonly certificates: readonly { readonly name: string; readonly notAfterMs: number }[];
}

/** What is counted of the daemon itself, of the people who ask it, and of the statistics job. */
export interface DaemonMetrics {
  /** The session was extended, or not. */
  sessionPoke(seconds: number): void;
  /** A transaction ended, well or not, after so many attempts. */
  transactionAttempts(processor: Processor, attempts: number): void;
  /** Whether a transaction was committed is not known. */
  transactionAmbiguous(processor: Processor): void;
  /** The janitor went through. @param atMs epoch ms of the database clock. */
  swept(removed: Removed, atMs: number): void;
  /** What a loop does again and again failed once. */
  loopFailed(loop: string): void;
  /** A host key was another one than is known of the machine. */
  hostKeyChanged(provider: string): void;
  /** An agent told how an installation ended, for the first time. */
  installation(result: 'Success' | 'Error'): void;
  /** Somebody asked for something by the console. `outcome`: `filed`, or the code of its refusal. */
  request(verb: string, via: string, outcome: string): void;
  /** One answer of the console; `route` is a pattern, never a path. */
  httpRequest(route: string, method: string, status: number, seconds: number): void;
  /** So many streams are open at the console. */
  streams(count: number): void;
  /** A stream was ended because its reader did not read. */
  streamDropped(): void;
  /** Replaces the gauges of the daemon. To be told before each scrape. */
  standing(figures: DaemonFigures): void;
  /** Counts of the fleet that this daemon took, as it has the job; only the part that was asked for. */
  statistics(part: StatisticsPart, counted: Statistics): void;
  hardware(sums: HardwareSums): void;
  /** A query of the statistics ended; `atMs`: well, epoch ms of the database clock. */
  statisticsRead(query: StatisticsQuery, atMs: number | null): void;
  /** Another daemon counts from now on: what was counted here is 0, and is not taken for the fleet's. */
  statisticsLeft(): void;
}

export type StatisticsMetrics = Pick<
  DaemonMetrics,
  'statistics' | 'hardware' | 'statisticsRead' | 'statisticsLeft'
>;
export type ConsoleMetrics = Pick<
  DaemonMetrics,
  'request' | 'httpRequest' | 'streams' | 'streamDropped'
>;

export const silentDaemonMetrics: DaemonMetrics = {
  sessionPoke: () => undefined,
  transactionAttempts: () => undefined,
  transactionAmbiguous: () => undefined,
  swept: () => undefined,
  loopFailed: () => undefined,
  hostKeyChanged: () => undefined,
  installation: () => undefined,
  request: () => undefined,
  httpRequest: () => undefined,
  streams: () => undefined,
  streamDropped: () => undefined,
  standing: () => undefined,
  statistics: () => undefined,
  hardware: () => undefined,
  statisticsRead: () => undefined,
  statisticsLeft: () => undefined,
};
