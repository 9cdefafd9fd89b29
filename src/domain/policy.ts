export const HOST_KEY_POLICIES = ['strict', 'tofu', 'insecure'] as const;
/**
 * What counts where nothing proves an SSH host key: `strict` refuses it, `tofu` believes the first one
 * and pins it, `insecure` believes any.
 */
export type HostKeyPolicy = (typeof HOST_KEY_POLICIES)[number];

/** Limits that both the SQL predicates and the derived states use: one definition for all. */
export interface LossPolicy {
  /** No heartbeat yet: lost this long after the agent was started (30 min). */
  readonly firstHeartbeatMs: number;
  /** Lost this long after the last heartbeat (10 min). */
  readonly heartbeatMs: number;
  /** While an installation is pending: not lost before this long after its hand-out (30 min). */
  readonly handOutMs: number;
  /** The period agents are told to report in (30 s). */
  readonly periodMs: number;
  /**
   * A daemon learns of heartbeats that another one took in from its full reads of the database. This is
   * the time between two of them; 0 when absent.
   */
  readonly readGapMs?: number;
  /** A machine that is silent, or out of reach, for this long needs a person (1 h). */
  readonly needsHumanAfterMs: number;
  /** Unbroken heartbeats for this long end an episode of recovery; `LADDER_RESET_MS` when absent. */
  readonly ladderResetMs?: number;
  /** The ladder waits so long for load balancers to let a lost machine go; `SERVE_WAIT_MS` when absent. */
  readonly serveWaitMs?: number;
  /** When starting the agent is given up; `DEFAULT_ESCALATION` when absent. */
  readonly escalation?: EscalationPolicy;
}

/**
 * How many machines recovery may interrupt at the same time (reboot, reset of a controller, power
 * cycle, reinstallation). The smallest of the limits of location, provider and fleet applies.
 * Restarting an agent interrupts nothing and does not count.
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

/** When starting the agent is given up and the ladder takes the machine. */
export interface EscalationPolicy {
  /** Failures in a row (6). */
  readonly failuresMax: number;
  /** An agent was executed this long ago and neither recorded nor is anybody at it (30 min). */
  readonly attemptAgeMs: number;
}
export const DEFAULT_ESCALATION: EscalationPolicy = { failuresMax: 6, attemptAgeMs: 30 * 60_000 };

/** From this many started machines on, a group may have two machines interrupted at once. */
export const PAIR_FROM = 4;
/** The percentage never allows fewer: one machine that does not come back must not hold up the next. */
const shareOf = ({ percent }: RecoveryBudget, count: number): number =>
  Math.max(count >= PAIR_FROM ? 2 : 1, Math.floor((percent * count) / 100));
/** How many machines of a group of `count` may be interrupted at once. */
export const groupBudget = (budget: RecoveryBudget, count: number): number =>
  Math.max(1, Math.min(budget.perGroupMax, shareOf(budget, count)));
/** The same for the whole fleet. */
export const fleetBudget = (budget: RecoveryBudget, count: number): number =>
  Math.max(1, Math.min(budget.fleetMax, shareOf(budget, count)));
/** Permits beyond each limit that only an operator's order may take. */
export const ORDERS_KEPT = 1;
/**
 * A machine that has not answered for this long after it was asked to boot, or for as long as its
 * longest boot took, is beyond reach: the rest of its patience holds no permit.
 */
export const BEYOND_REACH_MS = 5 * 60_000;

/** Heartbeats in a row, at most two periods apart, that give a permit to be recovered back. */
export const PERMIT_RETURNED_AFTER = 3;
/** Unbroken heartbeats for this long end an episode: the ladder starts from the bottom again. */
export const LADDER_RESET_MS = 30 * 60_000;
/** Boots of a machine of each kind that are remembered. */
export const BOOT_TIMES_KEPT = 5;
/** An unreachable balancer must not keep a dead machine dead. */
export const SERVE_WAIT_MS = 10 * 60_000;
/** Penalties of a slot in a row double up to this. */
export const PENALTY_MAX_MS = 24 * 3_600_000;
/** A creation whose device no complete listing showed for so long is forgotten. */
export const ABANDON_MS = 3_600_000;
/** Requests under one witness, after which a creation is only looked for, no longer tried. */
export const RESUMES_MAX = 5;
