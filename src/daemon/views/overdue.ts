import type { BoardEntry } from '../../actors/board.ts';
import type { MachineEntry } from '../../console/port.ts';
import { type Stays, isOverdue, stepLimitMs } from '../../domain/explanation/overdue.ts';
import type { SlotFacts } from '../../domain/machine.ts';
import type { Slot } from '../../domain/ids.ts';
import type { LossPolicy } from '../../domain/policy.ts';
import type { LadderPolicy } from '../../domain/recovery/ladder.ts';

export interface OverdueDeps {
  readonly stays: Pick<Stays, 'usual'>;
  readonly facts: () => ReadonlyMap<Slot, SlotFacts>;
  readonly ladderOf: (provider: string) => LadderPolicy;
  readonly loss: LossPolicy;
}

/** Whether a machine is overdue at a moment, epoch ms of the database clock. */
export type OverdueRule = (entry: MachineEntry, nowMs: number) => boolean;

/**
 * A machine is overdue if it exceeds its step's limit and the usual duration. Counts from the last
 * observed change, so that after a daemon's start, overdue machines appear late and never early.
 * Checked for each machine of a list: a machine at rest costs one or two comparisons.
 */
export function createOverdueRule({ stays, facts, ladderOf, loss }: OverdueDeps): OverdueRule {
  const ladders = new Map<string, { readonly policy: LadderPolicy; readonly means: null }>();
  const ladder = (provider: string) => {
    const known = ladders.get(provider) ?? { policy: ladderOf(provider), means: null };
    ladders.set(provider, known);
    return known;
  };
  return ({ view: { slot, provider }, state, substate, sinceMs, last }, nowMs) => {
    const place = { state, substate, ladder: ladder(provider), loss };
    const limitMs = stepLimitMs(place);
    const thereSinceMs = last?.atMs ?? sinceMs;
    if (limitMs === null || nowMs - thereSinceMs <= limitMs) return false;
    const plan = facts().get(slot)?.listed?.plan ?? null;
    const usual = stays.usual({ provider, plan, state, substate });
    return isOverdue({ ...place, usual, nowMs }, thereSinceMs);
  };
}

export interface Overdue {
  readonly provider: string;
  readonly state: string;
  readonly count: number;
}

/** Overdue machines by provider and state. */
export function overdueCounts(
  entries: Iterable<BoardEntry>,
  isOverdueAt: OverdueRule,
  nowMs: number,
): Overdue[] {
  const counts = new Map<string, { provider: string; state: string; count: number }>();
  for (const entry of entries) {
    if (!isOverdueAt(entry, nowMs)) continue;
    const { provider } = entry.view;
    const key = `${provider} ${entry.state}`;
    const known = counts.get(key) ?? { provider, state: entry.state, count: 0 };
    counts.set(key, known);
    known.count += 1;
  }
  return [...counts.values()];
}
