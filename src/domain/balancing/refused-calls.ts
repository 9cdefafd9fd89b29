import type { ServerMode } from './objects.ts';
import { refusedAgain, type Refusal } from './refusals.ts';
import { retryMs } from './waiting.ts';

/** Calls about the servers of a member that fail, while the balancer can be read. */
export interface RefusedCall extends Refusal {
  /** Since when none of them was taken, epoch ms. */
  readonly sinceMs: number;
  /** What was asked for last. */
  readonly mode: ServerMode;
}

const PAUSE_LONGEST_MS = 60_000;

export const callRefused = (
  before: RefusedCall | undefined,
  mode: ServerMode,
  why: string,
  nowMs: number,
): RefusedCall => ({
  ...refusedAgain(before?.mode === mode ? before : undefined, why, nowMs),
  sinceMs: before?.sinceMs ?? nowMs,
  mode,
});

/** When a mode may be asked for again, epoch ms; another one than was refused: at once. */
export const callAgainMs = (refused: RefusedCall, mode: ServerMode): number =>
  mode === refused.mode
    ? refused.atMs + Math.min(PAUSE_LONGEST_MS, retryMs(refused.count, null))
    : 0;
