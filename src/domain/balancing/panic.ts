import type { MachineId } from '../ids.ts';
import type { PoolRow } from './pool-row.ts';

/** What the panic guard of a pool has seen, and how often; it is not kept over a restart. */
export interface Alarm {
  /** Who would go, in one text: equal texts are equal findings. */
  readonly snapshot: string;
  readonly sinceMs: number;
  readonly looks: number;
  readonly lookedAtMs: number;
}

const LOOKS = 3;
/** So many equal findings over so long are believed. */
export const BELIEVED_MS = 300_000;
const BETWEEN_MS = BELIEVED_MS / (LOOKS - 1);

/** Takes in a finding; looks that come sooner than others count once. */
export function alarmAfter(before: Alarm | null, snapshot: string, nowMs: number): Alarm {
  if (before?.snapshot !== snapshot)
    return { snapshot, sinceMs: nowMs, looks: 1, lookedAtMs: nowMs };
  if (nowMs < before.lookedAtMs + BETWEEN_MS) return before;
  return { ...before, looks: before.looks + 1, lookedAtMs: nowMs };
}

/** It has been the same for so long that it is true. */
export const isBelieved = ({ looks, sinceMs }: Alarm, nowMs: number): boolean =>
  looks >= LOOKS && nowMs >= sinceMs + BELIEVED_MS;

/** When the next look counts, epoch ms. */
export const nextLookMs = ({ lookedAtMs }: Alarm): number => lookedAtMs + BETWEEN_MS;

/** What an operator has accepted is true for so long. */
const ACCEPTED_MS = 3_600_000;

/** Whether an operator, who saw what the panic guard saw, lets all of these go. */
export function isAccepted(
  { frozen, accepted }: Pick<PoolRow, 'frozen' | 'accepted'>,
  going: readonly MachineId[],
  nowMs: number,
): boolean {
  if (!accepted || !frozen || nowMs > accepted.atMs + ACCEPTED_MS) return false;
  const seen = new Set(frozen.snapshot.split(' '));
  return going.every((machine) => seen.has(machine));
}
