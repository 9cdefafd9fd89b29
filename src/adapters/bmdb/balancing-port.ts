import type { MemberChange, MemberRow } from '../../domain/balancing/members.ts';
import type { PoolName, PoolRow } from '../../domain/balancing/pool-row.ts';
import type { MachineId } from '../../domain/ids.ts';
import type { Lease } from './port.ts';

export type { MemberChange } from '../../domain/balancing/members.ts';

/**
 * Writes about the pools of one balancer, by the daemon that holds the balancer's job. Every call
 * names the lease of that job. If the session no longer holds the lease, or is dead, the call
 * writes nothing and throws `LeaseLost` or `SessionExpired`. Every call may be repeated.
 */
export interface BalancingRepository {
  /**
   * Changes members independently of each other.
   * @returns a verdict for each change, in the order of the changes.
   * @throws {RangeError} two changes concern one machine, or a change lacks `graceMs` or `how`.
   */
  write(
    lease: Lease,
    pool: PoolName,
    changes: readonly MemberChange[],
  ): Promise<readonly MemberVerdict[]>;
  /** Records the state of a pool. Absent keys keep their values; the first note creates the row. */
  note(lease: Lease, pool: PoolName, patch: PoolPatch): Promise<void>;
  /**
   * Deletes a pool at a balancer with all its members there, and logs that for the slot of each
   * member.
   * @param lease of the balancer's job, or of the job for this pool at this balancer.
   */
  forget(lease: Lease, pool: PoolName, who: PoolForgetter): Promise<void>;
}

/** Who has a pool deleted, and why. */
export interface PoolForgetter {
  readonly by: string;
  readonly reason: string;
}

/** The log line for the slot of a former member. */
export const forgottenText = ({ pool, balancer }: PoolName, { reason }: PoolForgetter): string =>
  `forget-pool: it is no recorded member of pool ${pool} at ${balancer} any more: ${reason}`;

export interface MemberVerdict {
  readonly machineId: MachineId;
  /**
   * `written`: the change was made. `busy`: the machine would begin to serve, but somebody works on
   * it or claims it, or an installation is due; a later attempt may succeed. `stale`: the member's
   * state does not allow the change. `lost`: the machine does not exist.
   */
  readonly result: 'written' | 'busy' | 'stale' | 'lost';
  /** The row after the call; null if there is none. */
  readonly row: MemberRow | null;
}

/** What to record about a pool. Times are by the database clock. */
export interface PoolPatch {
  readonly state?: string;
  readonly madeAs?: string;
  readonly generation?: number;
  readonly failures?: number;
  /** Counted from now; null: at once. */
  readonly retryInMs?: number | null;
  readonly reason?: string | null;
  /** The balancer was just seen to have the desired state. */
  readonly settled?: true;
  /** The pool was just read from the balancer. */
  readonly observed?: true;
  /** The first such note freezes the pool; null ends the freeze and any acceptance. */
  readonly frozen?: Pick<NonNullable<PoolRow['frozen']>, 'reason' | 'snapshot'> | null;
}
