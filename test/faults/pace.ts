import type { BackoffDescriptor } from '../../src/domain/backoff.ts';
import { DEFAULT_GUARD, type GuardPolicy } from '../../src/domain/recovery/guard-judgement.ts';
import type { LossPolicy, RecoveryBudget } from '../../src/domain/policy.ts';

/** Periods and limits of a daemon under test. */
export interface Pace {
  readonly sessionIntervalMs: number;
  readonly sessionRetryMs: number;
  readonly headStartMs: number;
  readonly scanMs: number;
  readonly scanGapMs: number;
  readonly listMs: number;
  readonly sweepMs: number;
  readonly drainMs: number;
  /** Maximum tasks of each kind at once. */
  readonly places: number;
  readonly backoff: BackoffDescriptor;
  /** Reboots: how long to wait for evidence, how often to look, and when to request again. */
  readonly patienceMs: number;
  readonly pollMs: number;
  readonly askAgainMs: number;
  readonly loss: Required<LossPolicy>;
  readonly budget: RecoveryBudget;
  readonly guard: GuardPolicy;
}

/** As short as the machinery allows, so that a minute holds many lives of a machine. */
export const HURRY: Pace = {
  sessionIntervalMs: 4_000,
  sessionRetryMs: 200,
  headStartMs: 200,
  scanMs: 2_000,
  scanGapMs: 200,
  listMs: 10_000,
  sweepMs: 1_500,
  drainMs: 3_000,
  places: 24,
  backoff: { initialMs: 1_000, exponent: 1.2, maximumMs: 2_000 },
  patienceMs: 3_000,
  pollMs: 150,
  askAgainMs: 2_000,
  loss: {
    firstHeartbeatMs: 6_000,
    heartbeatMs: 5_000,
    handOutMs: 5_000,
    periodMs: 1_000,
    readGapMs: 2_000,
    ladderResetMs: 3_000,
    serveWaitMs: 5_000,
    needsHumanAfterMs: 3_600_000,
    escalation: { failuresMax: 4, attemptAgeMs: 5_000 },
  },
  budget: { percent: 25, perGroupMax: 16, fleetMax: 24 },
  // Many machines fail at once here, and recovery must not freeze.
  guard: {
    ...DEFAULT_GUARD,
    silentPercent: 100,
    unreachablePercent: 100,
    assessMs: 500,
    ingestGapMs: 4_000,
  },
};
