import type { MachineRow } from '../machine.ts';

type Ladder = MachineRow['recovery'];

/** Reboots asked for in one episode; an episode ends with long enough unbroken heartbeats. */
export const REBOOTS_MAX = 3;

/** Why no rung is left to try; null: the next attempt may begin. */
export function ladderEnd(ladder: Ladder): string | null {
  if (!ladder || ladder.attempts < REBOOTS_MAX) return null;
  return `${ladder.attempts} reboots were asked for and it did not stay up; no other means is left`;
}

/** A reboot that was asked for and never proved was perhaps ignored: then not so gently again. */
export const rebootMode = (ladder: Ladder): 'graceful' | 'force' =>
  ladder?.askedAtMs ? 'force' : 'graceful';

/** An open request so young may still come true: asking again would reboot twice. */
export const isStillAsked = (ladder: Ladder, nowMs: number, askAgainMs: number): boolean =>
  typeof ladder?.askedAtMs === 'number' && nowMs - ladder.askedAtMs < askAgainMs;
