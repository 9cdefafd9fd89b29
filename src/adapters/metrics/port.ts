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
  workStarted(process: string): void;
  workFinished(process: string, result: 'finished' | 'failed' | 'canceled' | 'lost'): void;
  claimConflict(process: string): void;
  heartbeat(outcome: 'ok' | 'unauthenticated' | 'invalid' | 'unavailable' | 'limited'): void;
  adapterCall(adapter: string, op: string, code: string): void;
  agentStartFailure(cls: string): void;
  reboot(provider: string, outcome: string): void;
  sessionStarted(): void;
  sessionExpired(): void;
  /** One attempt of a BMDB transaction (`executed` first, `retried` later), or its giving up. */
  transaction(step: 'executed' | 'retried' | 'failed'): void;
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
