import { isParked } from './drain-turns.ts';
import { UNSAID, type MemberPass } from './member-pass.ts';
import { mayServe, type MemberRow, type Wish } from './members.ts';

/** `best-effort`: a balancer that cannot be reached for so long is not waited for. */
export const WAIVE_MS = 30_000;

/** Why a balancer lets nobody go, and since when. */
interface Hindrance {
  readonly sinceMs: number;
  /** As in "balancer edge cannot be reached". */
  readonly what: string;
  readonly why: string;
}

/** Only who waits for the balancer is told something: nothing is changed at it, or known of it. */
export function whileUnreachable(pass: MemberPass, wish: Wish | undefined, row: MemberRow): void {
  answerInstead(pass, wish, row, { ...pass.unreachable!, what: 'cannot be reached' });
}

/**
 * Answers who waits for a balancer that lets nobody go: it is waited for no longer, or never lets the
 * member go. @returns whether there is something to write.
 */
export function answerInstead(
  pass: MemberPass,
  wish: Wish | undefined,
  row: MemberRow,
  { sinceMs, what, why }: Hindrance,
): boolean {
  const { pool, balancer, nowMs } = pass;
  const { policy, waitMs } = pool.drain;
  const { machineId } = row;
  const isPatient = policy === 'require';
  const isAsked = wish?.want === 'drain';
  // Where nobody knows when it was asked for, the balancer is waited for since it began to let it go.
  const beganAtMs = row.state === 'draining' ? row.sinceMs : nowMs;
  const askedAtMs = isAsked ? (wish.askedAtMs ?? beganAtMs) : nowMs;
  const atMs = isPatient ? Math.max(sinceMs, askedAtMs) + waitMs : sinceMs + WAIVE_MS;
  // What was said of an earlier request is not the answer to this one.
  if ((row.refused && (!isAsked || nowMs < atMs)) || (row.waived && !isAsked)) {
    pass.move({ machineId, ...UNSAID });
    return true;
  }
  if (!isAsked || !mayServe(row) || (isPatient && row.refused)) return false;
  // Nobody waits to interrupt it: it is to be away, and is not because that is said.
  if (!isPatient && isParked(wish)) return false;
  if (nowMs < atMs) {
    pass.dueAt(atMs);
    return false;
  }
  const note = isPatient
    ? `refused: balancer ${balancer} ${what}: ${why}`
    : `balancer ${balancer} ${what}, and is not waited for: ${why}`;
  pass.move({ machineId, ...(isPatient ? { refused: true } : { waived: true }), note });
  return true;
}
