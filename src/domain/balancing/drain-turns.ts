import type { MachineId } from '../ids.ts';
import { mayServe, type MemberRow, type Wish } from './members.ts';
import type { Pool } from './pools.ts';
import { DESELECTED } from './wish.ts';

type Drain = Extract<Wish, { want: 'drain' }>;

/** A member that is not let go yet, and that somebody wants to be let go with patience. */
export interface Candidate {
  readonly wish: Drain;
  /** Not yet, or not again: it is on its way to serve. */
  readonly isJoining: boolean;
  /** It gets traffic and is well, as far as is known. */
  readonly isServing: boolean;
  /** Another pool or balancer of the machine lets it go, or has done so. */
  readonly isUnderWay: boolean;
  /** It was given back lately, and elsewhere it is still not let go. */
  readonly isSetAside: boolean;
}

/** A member that is drained, and that waits for other pools or balancers. */
export interface Holder {
  readonly wish: Drain;
  /** Drained since, epoch ms. */
  readonly sinceMs: number;
}

/** How many there are of each, before anybody is let go in this pass. */
export interface Muster {
  /** Active members that are to stay and are not seen down, candidates among them. */
  readonly serving: number;
  /** Members that are away by plan, or on their way back. */
  readonly interrupted: number;
  /** Members that are not active, and are going to be. */
  readonly coming: number;
  /** Somebody who is to serve is still to become active. */
  readonly isFilling: boolean;
}

export interface Turns {
  /** Who begins to drain now. */
  readonly begin: readonly Drain[];
  /** Why each of the other candidates waits. */
  readonly wait: ReadonlyMap<MachineId, string>;
  /** Holders that serve again. */
  readonly giveBack: readonly Drain[];
  /** When a holder may have to serve again that waits for others now, epoch ms; null: nobody. */
  readonly dueAtMs: number | null;
}

/** A member that waits for other pools serves again after this, when one waits that goes first. */
export const YIELD_MS = 60_000;
/** A member that waits for other pools serves again after this, whoever waits. */
export const HELD_MS = 300_000;
/** Who was given back is not let go again before that, unless the others let it go by then. */
export const SET_ASIDE_MS = 600_000;

/**
 * Who begins to drain now, why each of the others waits, and who has to serve again. Each balancer
 * decides alone, so the order is the same everywhere: first whom another one lets go already, then the
 * longest asked for. Whoever waits for its turn keeps it, so that nobody who comes later passes it.
 */
export function drainTurns(
  candidates: readonly Candidate[],
  holders: readonly Holder[],
  { minActive, drain }: Pick<Pool, 'minActive' | 'drain'>,
  muster: Muster,
  nowMs: number,
): Turns {
  let { serving, interrupted, coming } = muster;
  /** Turns that are kept for whoever waits until enough are active. */
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
      hold('it serves until its other pools let it go');
    } else if (reason === DESELECTED && muster.isFilling && !isJoining) {
      hold('it stays until those that come are active');
    } else if (isJoining && elders.some((elder) => isInTheWay(wish, elder))) {
      hold('who was asked for before goes first');
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

const FIRST = 'another was asked for before';
const countOf = (count: number): string => (count === 1 ? '1 is' : `${count} are`);

/** One that waits here, and that goes before others. */
interface Elder {
  readonly candidate: Candidate;
  readonly waitsFor: 'turn' | 'others';
}

/** Whether a member would take away what the elder waits for. */
const isInTheWay = (wish: Drain, { waitsFor }: Elder): boolean =>
  !isParked(wish) && (waitsFor === 'others' || wish.leaves !== true);

/** It is only to be out of its pools: nobody waits until all of them have let it go. */
export const isParked = ({ leaves, askedAtMs }: Drain): boolean =>
  leaves === true && askedAtMs === null;

/** Whether a member that was let go may have to serve again, though it is still wanted to go. */
export const mayBeGivenBack = ({ state }: MemberRow, wish: Drain): boolean =>
  state === 'drained' && !isParked(wish);

/**
 * Of two balancers of which each has let go another machine and waits for the other, one has to take
 * its own back: the one whose machine comes later in the order that both know.
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

/** Somebody lets the machine go, or has done so. */
export const isLetGo = ({ state }: MemberRow): boolean =>
  state === 'draining' || state === 'drained';

/** Nobody lets the machine go there, as things are; or that should have ended long ago. */
export const isHeld = (row: MemberRow, nowMs: number): boolean => {
  const { state, refused, deadlineMs } = row;
  if (!mayServe(row)) return false;
  return state !== 'draining' || refused || nowMs > (deadlineMs ?? Infinity) + OVERDUE_MS;
};

const OVERDUE_MS = 60_000;

/** Whether a balancer keeps a member that it is to let go, so that others need not wait for that. */
export const isStayed = (
  { state, refused }: MemberRow,
  refusedSinceMs: number | undefined,
  nowMs: number,
): boolean =>
  state === 'draining' && (refused || nowMs > (refusedSinceMs ?? Infinity) + OVERDUE_MS);

/** A drained member counts as being on its way back for so long. */
const AWAY_MS = 3_600_000;
/** So does one that joins, beside its warm-up. */
export const JOIN_MS = 300_000;

/** Whether a member is away by plan, or on its way back, so that others have to wait for it. */
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
