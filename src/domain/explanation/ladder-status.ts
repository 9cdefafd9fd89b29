import type { MachineRow } from '../machine.ts';
import { impossibility, nextStep, patienceOf } from '../recovery/ladder.ts';
import type { LadderCircumstances } from '../recovery/ladder.ts';
import { RUNGS, STANDING_RUNGS, type Rung } from '../recovery/rungs.ts';

/** One rung for one machine. */
export interface RungStatus {
  readonly rung: Rung;
  /** `passed`: milder than the ladder's current rung; `ahead`: not reached yet. */
  readonly place: 'passed' | 'here' | 'ahead';
  /** Attempts of this episode on the ladder's current rung. */
  readonly attempts: number;
  readonly attemptsMax: number;
  readonly patienceMs: number;
  /** Why the rung cannot be taken; null: it can. */
  readonly bar: string | null;
}

/** Progress and limits of a machine's recovery. Times are epoch ms of the database. */
export interface LadderStatus {
  /** Mildest rung first. */
  readonly rungs: readonly RungStatus[];
  /** When the last request counts as failed; null: no request is waited for. */
  readonly patienceEndsAtMs: number | null;
  /** No rung starts before this; null: a rung may start now. */
  readonly coolsUntilMs: number | null;
  /** The next rung and its attempt; `end`: nothing is left to try. */
  readonly next:
    | { readonly rung: Rung; readonly attempt: number; readonly end: null }
    | { readonly rung: null; readonly attempt: null; readonly end: string };
}

/** Pure: uses the machine's rows, its provider's capabilities, and the clock. */
export function ladderStatus(row: MachineRow, now: LadderCircumstances): LadderStatus {
  const { recovery } = row;
  const here = recovery ? STANDING_RUNGS.indexOf(recovery.rung) : -1;
  const step = nextStep(row, now);
  const cools = recovery?.nextAtMs ?? null;
  return {
    rungs: RUNGS.map((rung) => ({
      rung,
      place: placeOf(rung, here),
      attempts: rung === recovery?.rung ? recovery.attempts : 0,
      attemptsMax: now.policy[rung].attempts,
      patienceMs: now.policy[rung].patienceMs,
      bar: impossibility(rung, now),
    })),
    patienceEndsAtMs: patienceEndsAtMs(row, now),
    coolsUntilMs: cools !== null && cools > now.nowMs ? Math.ceil(cools) : null,
    next:
      'rung' in step
        ? { rung: step.rung, attempt: step.attempt, end: null }
        : { rung: null, attempt: null, end: step.end },
  };
}

function placeOf(rung: Rung, here: number): RungStatus['place'] {
  const at = (STANDING_RUNGS as readonly Rung[]).indexOf(rung);
  // The ladder's position is never a step beside the ladder.
  if (at === -1) return 'ahead';
  if (at === here) return 'here';
  return at < here ? 'passed' : 'ahead';
}

/** Until then, the process that made the request waits for evidence. */
function patienceEndsAtMs(row: MachineRow, now: LadderCircumstances): number | null {
  const { recovery, bootTimes, work } = row;
  const isUnderWay = work.some(
    ({ process }) => process === 'ShepherdRecovery' || process === 'ShepherdReinstall',
  );
  if (!recovery || !isUnderWay) return null;
  const { askedAtMs, askedRung, attempts } = recovery;
  if (askedAtMs === null || askedRung === null) return null;
  const attempt = Math.max(1, attempts);
  const patienceMs = patienceOf({ rung: askedRung, attempt }, now.policy[askedRung], bootTimes);
  return Math.ceil(askedAtMs + patienceMs);
}
