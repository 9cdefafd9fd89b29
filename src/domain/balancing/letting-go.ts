import { type MemberPass, type ModeCall, UNSAID } from './member-pass.ts';
import { type DrainEnd, type MemberRow, type Wish, mayServe } from './members.ts';
import { DESELECTED } from './wish.ts';
import { isParked } from './drain-turns.ts';

/** Deadlines that differ by less count as equal. */
const CLOCKS_MS = 1_000;
/** Smallest step by which the deadline of a drain without effect is moved. */
const STEP_MS = 60_000;

/** Interval between looks at a member whose servers are being removed. */
const REMOVAL_MS = 15_000;

const reasonOf = (wish: Wish): string => ('reason' in wish ? wish.reason : '');

/** Starts to drain a member: it gets no new connections, and existing ones may end. */
export function drain(pass: MemberPass, row: MemberRow, note: string): void {
  const { graceMs } = pass.pool.drain;
  // A process that was told not to wait for the balancer may already work on the machine.
  pass.enter(row, 'draining', { graceMs, note, ...(row.waived && { waived: true }) });
  if (pass.isNative) pass.lookSoon();
  pass.dueAt(pass.nowMs + graceMs);
}

/** Takes the next step of a draining member that should still drain. */
export function goOnDraining(pass: MemberPass, row: MemberRow, wish: Wish): void {
  const refused = pass.memory.refusing.get(row.machineId);
  if (refused && answerInstead(pass, wish, row, { ...refused, what: REFUSES })) {
    return pass.hold(row);
  }
  conclude(pass, row, wish);
}

const REFUSES = 'refuses to drain it';

/** Marks a draining member as drained as soon as its connections have ended or are cut. */
export function conclude(pass: MemberPass, row: MemberRow, wish: Wish): void {
  const { machineId } = row;
  const { pool, isNative, sights, memory, nowMs } = pass;
  // A refused call is repeated later; nothing changes until then.
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
  // The balancer removes the servers. The next look shows whether it refused that.
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
  // If new connections still arrive, the end moves, in steps that are worth a write.
  const isOver = !isAway && nowMs >= endMs;
  extend(pass, row, wish, isOver ? nowMs + Math.max(pool.drain.graceMs, STEP_MS) : endMs);
  pass.dueAt(endMs);
  pass.hold(row);
}

/** Connections that arrived before the balancer stopped new ones have the full grace. */
const graceEndMs = ({ memory, pool }: MemberPass, { machineId }: MemberRow): number =>
  (memory.openAtMs.get(machineId) ?? -Infinity) + pool.drain.graceMs - CLOCKS_MS;

/** Removes an unhealthy member at once. */
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

/** Removes the row of a drained member if nothing refers to it. */
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

/** Moves the deadline of a drain, unless it differs only by the tolerance between two clocks. */
function extend(pass: MemberPass, row: MemberRow, wish: Wish, toMs: number): void {
  const { machineId, deadlineMs } = row;
  const note = noteOf(pass, row, wish);
  if (deadlineMs !== null && deadlineMs > toMs - CLOCKS_MS) return pass.note(row, note);
  const graceMs = toMs - pass.nowMs;
  pass.move({ machineId, to: 'draining', graceMs, newDeadline: true, note });
}

/** Why the member drains, and what hinders the drain. */
function noteOf({ memory, balancer }: MemberPass, row: MemberRow, wish: Wish): string | null {
  if (wish.want !== 'drain' || row.waived || row.refused) return row.note;
  const refused = memory.refusing.get(row.machineId);
  if (!refused) return wish.reason;
  return `${wish.reason}; balancer ${balancer} ${REFUSES}: ${refused.why}`;
}

/** `best-effort`: after this long without contact, nobody waits for the balancer. */
export const WAIVE_MS = 30_000;

/** Why a balancer cannot drain members, and since when. */
interface Hindrance {
  readonly sinceMs: number;
  /** As in "balancer edge cannot be reached". */
  readonly what: string;
  readonly why: string;
}

/** Answers only those who wait for the unreachable balancer. */
export function whileUnreachable(pass: MemberPass, wish: Wish | undefined, row: MemberRow): void {
  answerInstead(pass, wish, row, { ...pass.unreachable!, what: 'cannot be reached' });
}

/**
 * Answers a request that waits while a balancer cannot drain members: `best-effort` ends the wait,
 * `require` refuses the request.
 * @returns whether there is something to write.
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
  // If the request has no time, the wait counts from the start of the drain.
  const beganAtMs = row.state === 'draining' ? row.sinceMs : nowMs;
  const askedAtMs = isAsked ? (wish.askedAtMs ?? beganAtMs) : nowMs;
  const atMs = isPatient ? Math.max(sinceMs, askedAtMs) + waitMs : sinceMs + WAIVE_MS;
  // The answer to an earlier request is no answer to this request.
  if ((row.refused && (!isAsked || nowMs < atMs)) || (row.waived && !isAsked)) {
    pass.move({ machineId, ...UNSAID });
    return true;
  }
  if (!isAsked || !mayServe(row) || (isPatient && row.refused)) return false;
  // Nobody waits to interrupt the machine, and a waiver would not remove it from the pool.
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
