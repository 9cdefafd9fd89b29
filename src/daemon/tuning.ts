import type { BatchOptions } from '../adapters/agents/heartbeat-service.ts';
import { DEFAULT_ESCALATION, DEFAULT_LOSS, type EscalationPolicy } from '../domain/policy.ts';
import { DEFAULT_GUARD, type GuardPolicy } from '../domain/recovery/guard-judgement.ts';
import type { Config } from '../config.ts';

/** Periods and limits that are not configuration: figures of the design, changed only by tests. */
export interface Tuning {
  /** Scans that wakes ask for are at least this far apart. */
  readonly scanGapMs: number;
  /** A daemon of rank n waits n times this before it asks for a machine. */
  readonly headStartMs: number;
  /** A reboot asked for less than this ago is not asked for again. */
  readonly askAgainMs: number;
  /** Unbroken heartbeats for this long end an episode of recovery. */
  readonly ladderResetMs: number;
  /** An installation that was handed out may keep the machine silent for so long. */
  readonly handOutMs: number;
  /** When starting the agent is given up. */
  readonly escalation: EscalationPolicy;
  /** Longest pause of a machine after tasks that went wrong in a row, besides its backoff. */
  readonly setbackMaxMs: number;
  /** The janitor's period. */
  readonly sweepMs: number;
  /** Work under way may take this long to end at a stop. */
  readonly drainMs: number;
  /** The agent server ends its calls within this at a stop. */
  readonly agentServerGraceMs: number;
  /** Pause before another session after one was lost; doubles up to 30 s, ± 20 %. */
  readonly sessionRetryMs: number;
  /** A granted turn that no task began is taken back after this. */
  readonly turnUnusedMs: number;
  /** An intent whose device was never seen is forgotten after this. */
  readonly abandonMs: number;
  /** The state of a machine that is given back is read so often. */
  readonly deprovisionPollMs: number;
  /** A job that another daemon has is asked for so often. */
  readonly leaseRetryMs: number;
  /** The guard assesses the fleet so often. */
  readonly assessMs: number;
  /**
   * Heartbeats not taken in anywhere for so long: the observer was out. Null: two periods of
   * heartbeats, and some assessments of the guard at least.
   */
  readonly ingestGapMs: number | null;
  /** It is looked so often for events to deliver to a webhook. */
  readonly webhookPollMs: number;
  /** How heartbeats share statements. */
  readonly heartbeatBatch: BatchOptions;
}

export const TUNING: Tuning = {
  scanGapMs: 250,
  headStartMs: 1_000,
  askAgainMs: 5 * 60_000,
  ladderResetMs: 30 * 60_000,
  handOutMs: DEFAULT_LOSS.handOutMs,
  escalation: DEFAULT_ESCALATION,
  setbackMaxMs: 30_000,
  sweepMs: 10_000,
  drainMs: 20_000,
  agentServerGraceMs: 5_000,
  sessionRetryMs: 500,
  turnUnusedMs: 5_000,
  abandonMs: 3_600_000,
  deprovisionPollMs: 10_000,
  leaseRetryMs: 3_000,
  assessMs: DEFAULT_GUARD.assessMs,
  ingestGapMs: null,
  webhookPollMs: 1_000,
  // A statement costs the database half a millisecond and the daemon a quarter, whatever is in it.
  heartbeatBatch: { gapMs: 20, enough: 100, max: 500 },
};

/** Assessments that may be missed before heartbeats count as not taken in. */
const MISSED_MAX = 4;

/** When recovery freezes and thaws: from the configuration, and figures of the design. */
export function guardPolicyOf(
  { guard, agent }: Pick<Config, 'guard' | 'agent'>,
  { assessMs, ingestGapMs }: Pick<Tuning, 'assessMs' | 'ingestGapMs'>,
): GuardPolicy {
  const { silentMin, silentPercent, newFor, calmPercent, calmFor, unreachablePercent } = guard;
  return {
    silentMin,
    silentPercent,
    calmPercent,
    unreachablePercent,
    assessMs,
    newForMs: newFor,
    calmForMs: calmFor,
    ingestGapMs: ingestGapMs ?? Math.max(2 * agent.heartbeatPeriod, MISSED_MAX * assessMs),
  };
}
