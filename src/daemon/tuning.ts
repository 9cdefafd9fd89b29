import type { BatchOptions } from '../adapters/agents/heartbeat-service.ts';
import { DEFAULT_ESCALATION, DEFAULT_LOSS, type EscalationPolicy } from '../domain/policy.ts';
import {
  ASSESSMENTS_MISSED,
  DEFAULT_GUARD,
  type GuardPolicy,
} from '../domain/recovery/guard-judgement.ts';
import type { Config } from '../config.ts';

/** Periods and limits that are no configuration: design figures that only tests change. */
export interface Tuning {
  /** Shortest interval between scans after wakes. */
  readonly scanGapMs: number;
  /** A daemon of rank n waits n times this before it requests a machine. */
  readonly headStartMs: number;
  /** A reboot requested less than this ago is not requested again. */
  readonly askAgainMs: number;
  /** Unbroken heartbeats for this long end an episode of recovery. */
  readonly ladderResetMs: number;
  /** An installation that was handed out may keep the machine silent for this long. */
  readonly handOutMs: number;
  /** When agent start is given up. */
  readonly escalation: EscalationPolicy;
  /** Longest pause of a machine after consecutive failed tasks, besides its backoff. */
  readonly setbackMaxMs: number;
  /** The janitor's period. */
  readonly sweepMs: number;
  /** Work under way may take this long to end at a stop. */
  readonly drainMs: number;
  /** The agent server ends its calls within this at a stop. */
  readonly agentServerGraceMs: number;
  /** Pause before another session after one was lost; doubles up to 30 s, ± 20 %. */
  readonly sessionRetryMs: number;
  /** A granted turn that no task began is withdrawn after this. */
  readonly turnUnusedMs: number;
  /** An intent whose device never appears is forgotten after this. */
  readonly abandonMs: number;
  /** Interval of reads of a machine that is given back. */
  readonly deprovisionPollMs: number;
  /** Interval of requests for a job that another daemon holds. */
  readonly leaseRetryMs: number;
  /** Interval of the guard's assessments. */
  readonly assessMs: number;
  /** See `GuardPolicy`. Null: see `ingestGapOf`. */
  readonly ingestGapMs: number | null;
  /** Interval of checks for webhook events. */
  readonly webhookPollMs: number;
  /** Batching of heartbeats into statements. */
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
  // A statement costs the database half a millisecond and the daemon a quarter, whatever its size.
  heartbeatBatch: { gapMs: 20, enough: 100, max: 500 },
};

/** One assessment may be missing, and two may be late by a second each. */
const leastGapMs = (assessMs: number): number => 2 * (assessMs + 1_000);

/**
 * Two heartbeat periods, and at least some assessments. Less where machines are lost sooner: a
 * machine that sends in time may not be found lost before the break is.
 */
const ingestGapOf = (
  { heartbeatPeriod, heartbeatDeadline }: Config['agent'],
  assessMs: number,
): number => {
  const usualMs = Math.max(2 * heartbeatPeriod, ASSESSMENTS_MISSED * assessMs);
  return Math.min(usualMs, Math.max(heartbeatDeadline - 2 * heartbeatPeriod, leastGapMs(assessMs)));
};

/** Rules of freezes and thaws, from the configuration and design figures. */
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
    ingestGapMs: ingestGapMs ?? ingestGapOf(agent, assessMs),
  };
}
