import { lostAtMs } from '../eligibility.ts';
import type { SlotFacts } from '../machine.ts';
import type { WishMoment } from './wish.ts';

/**
 * Just after this moment the clock alone may change what is wished of the machine, though no row does
 * and its view stays the same, epoch ms; null: never. Every time that `wishOf` compares with the clock
 * stands here. The guard tells by itself how it stands.
 */
export function wishDueAtMs(
  { row, holds }: Pick<SlotFacts, 'row' | 'holds'>,
  { nowMs, loss }: Pick<WishMoment, 'nowMs' | 'loss'>,
): number | null {
  if (!row) return null;
  const limits = [
    row.order?.expiresAtMs,
    row.quarantine?.untilMs,
    // Where a system was installed, its agent counts as gone from the same moment on.
    lostAtMs(row, loss),
    ...holds.map(({ untilMs }) => untilMs),
  ];
  let due: number | null = null;
  for (const at of limits) {
    if (typeof at === 'number' && at >= nowMs && (due === null || at < due)) due = at;
  }
  return due;
}
