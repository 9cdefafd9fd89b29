import type { MachineRow } from '../machine.ts';

/** When a device that listings do not show counts as gone, if the provider confirms it. */
export const MISSING_RULE = {
  /** Complete listings in a row that do not know it. */
  seenMin: 3,
  /** Time from the first to the last of them. */
  overMs: 15 * 60_000,
} as const;

/**
 * Whether one more complete listing without the device makes it due for the last question: a direct
 * look, whose `not-found` alone makes the machine Missing.
 */
export function isMissingDue(missing: MachineRow['missing'], nowMs: number): boolean {
  if (missing === null) return false;
  const { seenMin, overMs } = MISSING_RULE;
  return missing.seen + 1 >= seenMin && nowMs - missing.sinceMs >= overMs;
}
