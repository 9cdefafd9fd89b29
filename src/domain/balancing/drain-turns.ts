import type { MachineId } from '../ids.ts';
import type { MemberRow, Wish } from './members.ts';
import type { Pool } from './pools.ts';
import { DESELECTED } from './wish.ts';

type Drain = Extract<Wish, { want: 'drain' }>;

/** An active member that somebody wants to be let go with patience. */
export interface Candidate {
  readonly wish: Drain;
  /** It gets traffic and is well, as far as is known. */
  readonly isServing: boolean;
}

/** How many there are of each, before anybody is let go in this pass. */
export interface Muster {
  /** Active members that are to stay and are not seen down, candidates among them. */
  readonly serving: number;
  /** Members that are away by plan, or on their way back. */
  readonly interrupted: number;
  /** Somebody is still to become active. */
  readonly isFilling: boolean;
}

/** Who begins to drain now, and why each of the others waits. The longest asked for come first. */
export function drainTurns(
  candidates: readonly Candidate[],
  { minActive, drain }: Pick<Pool, 'minActive' | 'drain'>,
  muster: Muster,
): { readonly begin: readonly Drain[]; readonly wait: ReadonlyMap<MachineId, string> } {
  let { serving, interrupted } = muster;
  const begin: Drain[] = [];
  const wait = new Map<MachineId, string>();
  for (const { wish, isServing } of candidates.toSorted(byAge)) {
    const { machineId, force, reason, leaves } = wish;
    const left = isServing ? serving - 1 : serving;
    if (reason === DESELECTED && muster.isFilling) {
      wait.set(machineId, `${reason}; it stays until those that come are active`);
    } else if (!leaves && interrupted >= drain.atOnce) {
      wait.set(machineId, `${reason}; it waits for its turn: ${countOf(interrupted)} away already`);
    } else if (isServing && left < minActive && !force) {
      wait.set(
        machineId,
        `${reason}; not before another is active: ${countOf(left)} left, and ${minActive} must be`,
      );
    } else {
      begin.push(wish);
      serving = left;
      if (!leaves) interrupted += 1;
    }
  }
  return { begin, wait };
}

const countOf = (count: number): string => (count === 1 ? '1 is' : `${count} are`);

function byAge({ wish: a }: Candidate, { wish: b }: Candidate): number {
  const at = (a.askedAtMs ?? Infinity) - (b.askedAtMs ?? Infinity);
  if (at !== 0 && !Number.isNaN(at)) return at;
  return a.machineId < b.machineId ? -1 : 1;
}

/** A drained member counts as being on its way back for so long. */
const AWAY_MS = 3_600_000;
/** So does one that joins, beside its warm-up. */
const JOIN_MS = 300_000;

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
