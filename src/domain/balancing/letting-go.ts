import { type MemberPass, type ModeCall, UNSAID } from './member-pass.ts';
import { type DrainEnd, type MemberRow, type Wish, mayServe } from './members.ts';
import { DESELECTED } from './wish.ts';
import { isParked } from './drain-turns.ts';

/** Deadlines that differ by less are one. */
const CLOCKS_MS = 1_000;
/** The deadline of a drain that does not begin to work is moved by no less than this. */
const STEP_MS = 60_000;

/** A member whose servers are being removed is looked at again so often. */
const REMOVAL_MS = 15_000;

const reasonOf = (wish: Wish): string => ('reason' in wish ? wish.reason : '');

/** A member gets nothing new from now on; what is connected may end. */
export function drain(pass: MemberPass, row: MemberRow, note: string): void {
  const { graceMs } = pass.pool.drain;
  // Who was told not to wait for the balancer may be at work on the machine by now.
  pass.enter(row, 'draining', { graceMs, note, ...(row.waived && { waived: true }) });
  if (pass.isNative) pass.lookSoon();
  pass.dueAt(pass.nowMs + graceMs);
}

/** The next step of a member that is draining, as long as somebody wants it to be let go. */
export function goOnDraining(pass: MemberPass, row: MemberRow, wish: Wish): void {
  const refused = pass.memory.refusing.get(row.machineId);
  if (refused && answerInstead(pass, wish, row, { ...refused, what: REFUSES })) {
    return pass.hold(row);
  }
  conclude(pass, row, wish);
}

const REFUSES = 'refuses to let it go';

/** Lets a member go that is draining, as soon as its connections ended or have to. */
export function conclude(pass: MemberPass, row: MemberRow, wish: Wish): void {
  const { machineId } = row;
  const { pool, isNative, sights, memory, nowMs } = pass;
  // What the balancer refuses is asked for again later, and nothing changes until then.
  if (isNative && !memory.refusing.has(machineId)) pass.lookSoon();
  if (sights === null) return pass.needLook();
  const how: DrainEnd = wish.want === 'drain' && wish.force ? 'forced' : 'grace';
  const seen = sights.get(machineId);
  if (!seen) {
    if (isNative || wish.want !== 'drain') return drained(pass, row, wish, 'gone');
    const endMs = (memory.absentSinceMs.get(machineId) ?? nowMs) + pool.drain.graceMs;
    if (nowMs >= endMs) return drained(pass, row, wish, how);
    pass.dueAt(endMs);
    return extend(pass, row, wish, endMs);
  }
  // Its servers are being removed: should that be refused, it is found out by looking again.
  if (!isNative) {
    pass.note(row, noteOf(pass, row, wish));
    return pass.dueAt(nowMs + REMOVAL_MS);
  }
  const isAway = seen.servers.every(({ mode }) => mode === 'drain' || mode === 'off');
  if (isAway && seen.sessions === 0) return drained(pass, row, wish, 'no-sessions');
  const endMs = Math.max(row.deadlineMs ?? 0, isAway ? graceEndMs(pass, row) : 0);
  if (isAway && nowMs >= endMs) {
    return drained(pass, row, wish, how, pass.toMode(machineId, 'off'));
  }
  // Where new connections still come the end moves on, in steps that are worth writing.
  const isOver = !isAway && nowMs >= endMs;
  extend(pass, row, wish, isOver ? nowMs + Math.max(pool.drain.graceMs, STEP_MS) : endMs);
  pass.dueAt(endMs);
  pass.hold(row);
}

/** Connections that came until new ones were kept away have the whole grace before them. */
const graceEndMs = ({ memory, pool }: MemberPass, { machineId }: MemberRow): number =>
  (memory.openAtMs.get(machineId) ?? -Infinity) + pool.drain.graceMs - CLOCKS_MS;

/** Takes away at once a member that is not well. */
export function drop(pass: MemberPass, row: MemberRow, wish: Wish): void {
  const { machineId, state } = row;
  const { isNative, sights } = pass;
  if (state === 'drained') return;
  if (sights === null) return pass.needLook();
  if (isNative || !sights.has(machineId)) {
    return drained(pass, row, wish, 'gone', pass.toMode(machineId, 'off'));
  }
  if (state === 'draining') return;
  pass.move({ machineId, to: 'draining', graceMs: 0, note: reasonOf(wish) });
}

/** A member that was let go and that nothing refers to is forgotten. */
export function forget(pass: MemberPass, { machineId, state }: MemberRow, wish: Wish): void {
  const isWanted = wish.want !== 'drain' || wish.reason !== DESELECTED;
  const isKnown = wish.want !== 'drop' || wish.slot !== '';
  if (state !== 'drained' || (isWanted && isKnown)) return;
  if (pass.sights === null) pass.needLook();
  else if (!pass.sights.has(machineId)) pass.move({ machineId, to: 'gone' });
}

function drained(
  { sights, move }: MemberPass,
  { machineId }: MemberRow,
  wish: Wish,
  how: DrainEnd,
  calls: readonly ModeCall[] = [],
): void {
  const sessions = sights?.get(machineId)?.sessions ?? null;
  move({ machineId, to: 'drained', how, note: reasonOf(wish), sessions }, calls);
}

/** Moves the deadline of a drain, unless it is there already, as far as two clocks agree. */
function extend(pass: MemberPass, row: MemberRow, wish: Wish, toMs: number): void {
  const { machineId, deadlineMs } = row;
  const note = noteOf(pass, row, wish);
  if (deadlineMs !== null && deadlineMs > toMs - CLOCKS_MS) return pass.note(row, note);
  const graceMs = toMs - pass.nowMs;
  pass.move({ machineId, to: 'draining', graceMs, newDeadline: true, note });
}

/** Why the member drains, and what is in the way. */
function noteOf({ memory, balancer }: MemberPass, row: MemberRow, wish: Wish): string | null {
  if (wish.want !== 'drain' || row.waived || row.refused) return row.note;
  const refused = memory.refusing.get(row.machineId);
  if (!refused) return wish.reason;
  return `${wish.reason}; balancer ${balancer} ${REFUSES}: ${refused.why}`;
}

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
