export const HOST_KEY_POLICIES = ['strict', 'tofu', 'insecure'] as const;
/**
 * Handling of an SSH host key that nothing proves: `strict` refuses it, `tofu` trusts and pins the
 * first key, `insecure` trusts any key.
 */
export type HostKeyPolicy = (typeof HOST_KEY_POLICIES)[number];

/** Limits shared by the SQL predicates and the derived states. */
export interface LossPolicy {
  /** Without any heartbeat, lost this long after the agent's start (30 min). */
  readonly firstHeartbeatMs: number;
  /** Lost this long after the last heartbeat (10 min). */
  readonly heartbeatMs: number;
  /** With a pending installation, not lost before this long after its hand-out (30 min). */
  readonly handOutMs: number;
  /** Reporting period of agents (30 s). */
  readonly periodMs: number;
  /**
   * Time between two full reads of the database; 0 when absent. Only these reads show a daemon the
   * heartbeats that another daemon received.
   */
  readonly readGapMs?: number;
  /** A machine that is silent or unreachable for this long needs a person (1 h). */
  readonly needsHumanAfterMs: number;
  /** Unbroken heartbeats for this long end a recovery episode; default `LADDER_RESET_MS`. */
  readonly ladderResetMs?: number;
  /** Longest wait of the ladder for load balancers of a lost machine; default `SERVE_WAIT_MS`. */
  readonly serveWaitMs?: number;
  /** When agent start is given up; default `DEFAULT_ESCALATION`. */
  readonly escalation?: EscalationPolicy;
}

/**
 * How many machines recovery may interrupt at the same time (reboot, controller reset, power cycle,
 * reinstallation). The smallest limit of location, provider and fleet applies. An agent restart
 * interrupts nothing and does not count.
 */
export interface RecoveryBudget {
  /** Share of the started machines of each location, provider and the fleet, percent (5). */
  readonly percent: number;
  /** Absolute limit per provider and per location (10). */
  readonly perGroupMax: number;
  /** Absolute limit of the fleet (50). */
  readonly fleetMax: number;
}

export const DEFAULT_LOSS: LossPolicy = {
  firstHeartbeatMs: 30 * 60_000,
  heartbeatMs: 10 * 60_000,
  handOutMs: 30 * 60_000,
  periodMs: 30_000,
  needsHumanAfterMs: 60 * 60_000,
};
export const DEFAULT_BUDGET: RecoveryBudget = { percent: 5, perGroupMax: 10, fleetMax: 50 };

/** When agent start is given up and the ladder takes over. */
export interface EscalationPolicy {
  /** Failures in a row (6). */
  readonly failuresMax: number;
  /** An agent was executed this long ago, was not recorded, and no process works on it (30 min). */
  readonly attemptAgeMs: number;
}
export const DEFAULT_ESCALATION: EscalationPolicy = { failuresMax: 6, attemptAgeMs: 30 * 60_000 };

/** From this number of started machines, a group may have two machines interrupted at once. */
export const PAIR_FROM = 4;
/** Lower limit of the percentage: a machine that does not return must not block the next one. */
const shareOf = ({ percent }: RecoveryBudget, count: number): number =>
  Math.max(count >= PAIR_FROM ? 2 : 1, Math.floor((percent * count) / 100));
/** How many machines of a group of `count` may be interrupted at once. */
export const groupBudget = (budget: RecoveryBudget, count: number): number =>
  Math.max(1, Math.min(budget.perGroupMax, shareOf(budget, count)));
/** The same for the whole fleet. */
export const fleetBudget = (budget: RecoveryBudget, count: number): number =>
  Math.max(1, Math.min(budget.fleetMax, shareOf(budget, count)));
/** Permits beyond each limit, reserved for operators' orders. */
export const ORDERS_KEPT = 1;
/**
 * A machine is beyond reach after this long, or its longest boot time, without an answer to a boot
 * request. It holds no permit for the rest of its patience.
 */
export const BEYOND_REACH_MS = 5 * 60_000;

/** Heartbeats in a row, at most two periods apart, that return a recovery permit. */
export const PERMIT_RETURNED_AFTER = 3;
/** Unbroken heartbeats for this long end an episode: the ladder restarts at the bottom. */
export const LADDER_RESET_MS = 30 * 60_000;
/** Remembered boots per kind and machine. */
export const BOOT_TIMES_KEPT = 5;
/** Limits the wait for an unreachable balancer, so that a dead machine does not stay dead. */
export const SERVE_WAIT_MS = 10 * 60_000;
/** Consecutive penalties of a slot double up to this. */
export const PENALTY_MAX_MS = 24 * 3_600_000;
/** A creation is forgotten when no complete listing has shown its device for this long. */
export const ABANDON_MS = 3_600_000;
/** Requests with one creation key, after which a creation is only searched for. */
export const RESUMES_MAX = 5;
