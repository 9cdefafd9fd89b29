/** Number up to which events are complete, and what must end before that number can rise. */
export interface Horizon {
  /** Every event up to this number is committed, or never will be. */
  readonly number: bigint;
  /** Once every transaction below `xid` has ended, events up to this `number` are complete. */
  readonly pending: { readonly number: bigint; readonly xid: bigint } | null;
}

/** Contents of one snapshot. */
export interface Sight {
  /** The greatest visible number. */
  readonly newest: bigint;
  /** The oldest running transaction. */
  readonly xmin: bigint;
  /**
   * The next transaction id to be assigned, read after the snapshot. It differs from the snapshot's
   * `xmax`, which is one past the newest *ended* transaction: later transactions may already run.
   */
  readonly begun: bigint;
}

export const NOTHING_SEEN: Horizon = { number: 0n, pending: null };

/**
 * What a snapshot proves. Every transaction that took a visible or smaller number did so before the
 * snapshot, and had a transaction id by then. That id is below `begun`, and at least `xmin` if the
 * transaction still runs. If none runs, or all that ran when a number was first seen have ended, no
 * smaller number can appear.
 * @param before the horizon when the snapshot was requested, not when its answer came: another
 *   answer in between may have seen more.
 */
export function horizonAfter(before: Horizon, { newest, xmin, begun }: Sight): Horizon {
  const seen = { number: newest, xid: begun };
  // The snapshot is from another or a restored server: earlier knowledge means nothing here.
  const isOther = newest < before.number || (before.pending !== null && begun < before.pending.xid);
  const { number, pending } = isOther ? NOTHING_SEEN : before;
  if (xmin === begun) return { number: newest, pending: null };
  if (pending !== null && xmin < pending.xid) return { number, pending };
  const proved = pending === null || pending.number < number ? number : pending.number;
  return { number: proved, pending: seen };
}
