import type { MachineId } from '../ids.ts';
import { mayServe, type MemberRow, type Wish } from './members.ts';
import type { Pool } from './pools.ts';
import { DESELECTED } from './wish.ts';

type Drain = Extract<Wish, { want: 'drain' }>;

/** A member that should drain, with patience, and has not begun yet. */
export interface Candidate {
  readonly wish: Drain;
  /** The member does not serve yet, or not again: it is joining. */
  readonly isJoining: boolean;
  /** As far as is known, the member gets traffic and is healthy. */
  readonly isServing: boolean;
  /** Another pool or balancer drains the machine, or has drained it. */
  readonly isUnderWay: boolean;
  /** The member was given back recently, and another pool or balancer still has not drained it. */
  readonly isSetAside: boolean;
}

/** A member that is drained and waits until other pools or balancers have drained the machine. */
export interface Holder {
  readonly wish: Drain;
  /** Drained since, epoch ms. */
  readonly sinceMs: number;
}

/** Counts of members before this pass drains anybody. */
export interface Muster {
  /** Active members that should stay and are not seen down, including the candidates. */
  readonly serving: number;
  /** Members that are interrupted by plan, or on their way back. */
  readonly interrupted: number;
  /** Members that are not active yet and will become active. */
  readonly coming: number;
  /** At least one member that should serve is not active yet. */
  readonly isFilling: boolean;
}

export interface Turns {
  /** Candidates that begin to drain now. */
  readonly begin: readonly Drain[];
  /** Why each of the other candidates waits. */
  readonly wait: ReadonlyMap<MachineId, string>;
  /** Holders that must serve again. */
  readonly giveBack: readonly Drain[];
  /** When a waiting holder may have to serve again, epoch ms; null: no holder waits. */
  readonly dueAtMs: number | null;
}

/** A drained member that waits for other pools serves again after this if an earlier one waits. */
export const YIELD_MS = 60_000;
/** A drained member that waits for other pools serves again after this in any case. */
export const HELD_MS = 300_000;
/** A member that was given back drains again only after this, unless other pools drain it. */
export const SET_ASIDE_MS = 600_000;

/**
 * Decides which candidates begin to drain, why the others wait, and which holders serve again. Each
 * balancer decides alone, so all use the same order: machines that another balancer already drains
 * come first, then the oldest requests. A waiting candidate keeps its place, so that no later one
 * passes it.
 */
export function drainTurns(
  candidates: readonly Candidate[],
  holders: readonly Holder[],
  { minActive, drain }: Pick<Pool, 'minActive' | 'drain'>,
  muster: Muster,
  nowMs: number,
): Turns {
  let { serving, interrupted, coming } = muster;
  /** Places reserved for candidates that wait until enough members are active. */
  let kept = 0;
  const begin: Drain[] = [];
  const wait = new Map<MachineId, string>();
  const elders: Elder[] = [];
  for (const candidate of candidates.toSorted(byTurn)) {
    const { wish, isJoining, isServing } = candidate;
    const { machineId, force, reason, leaves } = wish;
    const left = isServing ? serving - 1 : serving;
    const hold = (why: string) => void wait.set(machineId, `${reason}; ${why}`);
    if (candidate.isSetAside) {
      hold('it serves until its other pools drain it');
    } else if (reason === DESELECTED && muster.isFilling && !isJoining) {
      hold('it stays until joining members are active');
    } else if (isJoining && elders.some((elder) => isInTheWay(wish, elder))) {
      hold('an earlier request goes first');
    } else if (!isJoining && !leaves && interrupted + kept >= drain.atOnce) {
      const isKept = interrupted < drain.atOnce;
      hold(`it waits for its turn: ${isKept ? FIRST : `${countOf(interrupted)} away already`}`);
      elders.push({ candidate, waitsFor: 'turn' });
    } else if (isServing && left < minActive && !force) {
      hold(`not before another is active: ${countOf(left)} left, and ${minActive} must be`);
      if (left + coming < minActive) continue;
      elders.push({ candidate, waitsFor: 'others' });
      if (!leaves) kept += 1;
    } else {
      begin.push(wish);
      serving = left;
      if (leaves || isJoining) continue;
      interrupted += 1;
      coming += 1;
    }
  }
  return { begin, wait, ...giveBackOf(holders, elders, nowMs) };
}

const FIRST = 'an earlier request goes first';
const countOf = (count: number): string => (count === 1 ? '1 is' : `${count} are`);

/** A candidate that waits here and comes before others. */
interface Elder {
  readonly candidate: Candidate;
  readonly waitsFor: 'turn' | 'others';
}

/** Whether draining this member would take the place that the earlier candidate waits for. */
const isInTheWay = (wish: Drain, { waitsFor }: Elder): boolean =>
  !isParked(wish) && (waitsFor === 'others' || wish.leaves !== true);

/** The member should only leave its pools: nobody waits until all pools have drained it. */
export const isParked = ({ leaves, askedAtMs }: Drain): boolean =>
  leaves === true && askedAtMs === null;

/** Whether a drained member may have to serve again although it should still drain. */
export const mayBeGivenBack = ({ state }: MemberRow, wish: Drain): boolean =>
  state === 'drained' && !isParked(wish);

/**
 * Resolves a deadlock in which two balancers each drained another machine and wait for each other.
 * The balancer whose machine comes later in the common order gives its machine back.
 */
function giveBackOf(
  holders: readonly Holder[],
  elders: readonly Elder[],
  nowMs: number,
): Pick<Turns, 'giveBack' | 'dueAtMs'> {
  const giveBack: Drain[] = [];
  let dueAtMs = Infinity;
  for (const { wish, sinceMs } of holders) {
    const isYielding = elders.some(
      (elder) => isInTheWay(wish, elder) && byTurn(elder.candidate, { wish, isUnderWay: true }) < 0,
    );
    const atMs = sinceMs + (isYielding ? YIELD_MS : HELD_MS);
    if (nowMs >= atMs) giveBack.push(wish);
    else dueAtMs = Math.min(dueAtMs, atMs);
  }
  return { giveBack, dueAtMs: dueAtMs === Infinity ? null : dueAtMs };
}

type InTurn = Pick<Candidate, 'wish' | 'isUnderWay'>;

function byTurn(one: InTurn, other: InTurn): number {
  if (one.isUnderWay !== other.isUnderWay) return one.isUnderWay ? -1 : 1;
  const { wish: a } = one;
  const { wish: b } = other;
  const at = (a.askedAtMs ?? Infinity) - (b.askedAtMs ?? Infinity);
  if (at !== 0 && !Number.isNaN(at)) return at;
  return a.machineId < b.machineId ? -1 : 1;
}

/** A balancer drains the machine, or has drained it. */
export const isLetGo = ({ state }: MemberRow): boolean =>
  state === 'draining' || state === 'drained';

/** The balancer cannot drain the machine now, or the drain is long overdue. */
export const isHeld = (row: MemberRow, nowMs: number): boolean => {
  const { state, refused, deadlineMs } = row;
  if (!mayServe(row)) return false;
  return state !== 'draining' || refused || nowMs > (deadlineMs ?? Infinity) + OVERDUE_MS;
};

const OVERDUE_MS = 60_000;

/** Whether a balancer keeps a member that should drain, so that others need not wait. */
export const isStayed = (
  { state, refused }: MemberRow,
  refusedSinceMs: number | undefined,
  nowMs: number,
): boolean =>
  state === 'draining' && (refused || nowMs > (refusedSinceMs ?? Infinity) + OVERDUE_MS);

/** A drained member counts as on its way back for this long. */
const AWAY_MS = 3_600_000;
/** A joining member counts as on its way for this long, in addition to its warm-up. */
export const JOIN_MS = 300_000;

/** Whether a member is interrupted by plan or on its way back, so that other members must wait. */
export function isInterrupted(
  { state, how, sinceMs }: MemberRow,
  wish: Wish,
  { warmUpMs }: Pick<Pool, 'warmUpMs'>,
  nowMs: number,
): boolean {
  const isLeaving = wish.want === 'drain' && wish.leaves === true;
  if (isLeaving) return false;
  if (state === 'draining') return wish.want === 'drain';
  if (state === 'drained') return how !== 'gone' && nowMs < sinceMs + AWAY_MS;
  return state !== 'active' && nowMs < sinceMs + warmUpMs + JOIN_MS;
}
