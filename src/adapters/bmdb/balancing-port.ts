import type { MemberChange, MemberRow } from '../../domain/balancing/members.ts';
import type { PoolName, PoolRow } from '../../domain/balancing/pool-row.ts';
import type { MachineId } from '../../domain/ids.ts';
import type { Lease } from './port.ts';

export type { MemberChange } from '../../domain/balancing/members.ts';

/**
 * What the one daemon that tends a balancer writes of its pools. Every call names the lease of that
 * job and throws, with nothing written, `LeaseLost` when it is not this session's any more, and
 * `SessionExpired` when the session is dead. All may safely be repeated.
 */
export interface BalancingBook {
  /**
   * Changes members, each by itself.
   * @returns a verdict for each change, in their order.
   * @throws {RangeError} two changes of one machine, or one that lacks `graceMs` or `how`.
   */
  write(
    lease: Lease,
    pool: PoolName,
    changes: readonly MemberChange[],
  ): Promise<readonly MemberVerdict[]>;
  /** Writes how a pool stands; absent keys stay as they are, and its first note makes its row. */
  note(lease: Lease, pool: PoolName, patch: PoolPatch): Promise<void>;
  /**
   * Forgets a pool at a balancer and all its members there, with a line in the log of each one's slot.
   * @param lease of the balancer's job, or of tending this pool there.
   */
  forget(lease: Lease, pool: PoolName, who: PoolForgetter): Promise<void>;
}

/** Who has a pool forgotten, and why. */
export interface PoolForgetter {
  readonly by: string;
  readonly reason: string;
}

/** The line in the log of a slot whose machine was a member. */
export const forgottenText = ({ pool, balancer }: PoolName, { reason }: PoolForgetter): string =>
  `forget-pool: it is no recorded member of pool ${pool} at ${balancer} any more: ${reason}`;

export interface MemberVerdict {
  readonly machineId: MachineId;
  /**
   * `written`: it is so. `busy`: it would begin to serve while somebody works on the machine, or
   * claims it just now, or while an installation is due: later, perhaps. `stale`: it cannot become that from what it is. `lost`: there
   * is no such machine.
   */
  readonly result: 'written' | 'busy' | 'stale' | 'lost';
  /** The row as it stands; null: there is none. */
  readonly row: MemberRow | null;
}

/** What is noted of a pool. Times are those of the database. */
export interface PoolPatch {
  readonly state?: string;
  readonly madeAs?: string;
  readonly generation?: number;
  readonly failures?: number;
  /** From now; null: at once. */
  readonly retryInMs?: number | null;
  readonly reason?: string | null;
  /** It was seen just now to be as desired. */
  readonly settled?: true;
  /** It was read just now from the balancer. */
  readonly observed?: true;
  /** Frozen since the first such note; null: not any more, and what an operator accepted ends, too. */
  readonly frozen?: Pick<NonNullable<PoolRow['frozen']>, 'reason' | 'snapshot'> | null;
}
