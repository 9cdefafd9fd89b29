/** Up to where events are complete, and what has to have ended for that to be further. */
export interface Horizon {
  /** Every event up to this number is committed, or never will be. */
  readonly number: bigint;
  /** Once no transaction below `xid` runs any more, that holds up to `number`. */
  readonly pending: { readonly number: bigint; readonly xid: bigint } | null;
}

/** What one snapshot shows. */
export interface Sight {
  /** The greatest number that was seen. */
  readonly newest: bigint;
  /** The oldest transaction that ran. */
  readonly xmin: bigint;
  /**
   * The first that had not begun, read after the snapshot. That is not its `xmax`, which is one past the
   * newest that had *ended*: transactions from there on may run already.
   */
  readonly begun: bigint;
}

export const NOTHING_SEEN: Horizon = { number: 0n, pending: null };

/**
 * What a snapshot proves. A number that is seen was taken before the snapshot, and so were all smaller
 * ones, by transactions that had their ids by then: below `begun`, and not below `xmin` if they still run.
 * Where none runs, or all that ran when a number was first seen have ended, nothing smaller can come.
 * @param before as it was when the snapshot was asked for, not when its answer came: another answer that
 *   came between may have seen more.
 */
export function horizonAfter(before: Horizon, { newest, xmin, begun }: Sight): Horizon {
  const seen = { number: newest, xid: begun };
  // Of another server, or of one that was restored: nothing of before says anything here.
  const isOther = newest < before.number || (before.pending !== null && begun < before.pending.xid);
  const { number, pending } = isOther ? NOTHING_SEEN : before;
  if (xmin === begun) return { number: newest, pending: null };
  if (pending !== null && xmin < pending.xid) return { number, pending };
  const proved = pending === null || pending.number < number ? number : pending.number;
  return { number: proved, pending: seen };
}
