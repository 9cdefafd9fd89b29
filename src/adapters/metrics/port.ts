import type { Process } from '../../domain/machine.ts';
import type { Processor } from '../../domain/processor.ts';

/** How a claim ended; `lost`: somebody else took it, or nobody was left to say. */
export type WorkResult = 'finished' | 'failed' | 'canceled' | 'lost';

/**
 * Counters and gauges of the daemon; names and labels as exported at `/metrics`. Machine ids are
 * never labels. Every method is total: it neither throws nor waits.
 */
export interface Metrics {
  transition(provider: string, from: string, to: string): void;
  /** Replaces the whole `shepherd_machines` family. */
  machines(
    counts: readonly { provider: string; state: string; substate: string; count: number }[],
  ): void;
  /** After the COMMIT, as the others of the BMDB. Which processor it is follows from the process. */
  workStarted(process: Process): void;
  workFinished(process: Process, result: WorkResult): void;
  claimConflict(process: Process): void;
  heartbeat(outcome: 'ok' | 'unauthenticated' | 'invalid' | 'unavailable' | 'limited'): void;
  adapterCall(adapter: string, op: string, code: string): void;
  agentStartFailure(cls: string): void;
  reboot(provider: string, outcome: string): void;
  sessionStarted(processor: Processor): void;
  sessionExpired(processor: Processor): void;
  /**
   * One attempt of a BMDB transaction (`executed` first, `retried` later), or its giving up. What a
   * transaction finds out, such as a conflict over work, is no failure of it.
   */
  transaction(step: 'executed' | 'retried' | 'failed', processor: Processor): void;
  actorCrash(): void;
  observe(
    name: 'work_duration_seconds' | 'work_queue_wait_seconds' | 'heartbeat_seconds',
    labels: Readonly<Record<string, string>>,
    seconds: number,
  ): void;
  /** One HTTP attempt of the Equinix client, `equinix_api_latency`. */
  equinixCall(endpoint: string, statusCode: string, seconds: number): void;
  equinixSlots(waiting: number, inFlight: number): void;
}

/** Counts nothing; for parts that run without a daemon around them. */
export const silentMetrics: Metrics = {
  transition: () => undefined,
  machines: () => undefined,
  workStarted: () => undefined,
  workFinished: () => undefined,
  claimConflict: () => undefined,
  heartbeat: () => undefined,
  adapterCall: () => undefined,
  agentStartFailure: () => undefined,
  reboot: () => undefined,
  sessionStarted: () => undefined,
  sessionExpired: () => undefined,
  transaction: () => undefined,
  actorCrash: () => undefined,
  observe: () => undefined,
  equinixCall: () => undefined,
  equinixSlots: () => undefined,
};
