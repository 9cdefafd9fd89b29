import { addressOf, read } from '../../api/ask.ts';
import type { MachineRow } from '../../api/types.ts';
import type { Drift, Look } from '../../acts/drift.tsx';
import { texts } from '../../texts.ts';

/** The API takes at most this many slots in one request. */
export const SELECTED_MAX = 1_000;
const READ_MAX_MS = 30_000;

/** Slots, each with the id of the machine that was on it when it was selected. */
export type Machines = ReadonlyMap<string, string | null>;

export interface Selection {
  readonly machines: Machines;
  /** All machines that matched this filter were selected. Null: they were selected one by one. */
  readonly filter: string | null;
}

export const NOTHING: Selection = { machines: new Map(), filter: null };

/** The selection with these machines added, or without them. */
export function changed({ machines }: Selection, rows: readonly MachineRow[], isIn: boolean) {
  const next = new Map(machines);
  for (const { slot, machineId } of rows) {
    if (isIn) next.set(slot, machineId);
    else next.delete(slot);
  }
  return { machines: next, filter: null };
}

/** All machines that match the filter now. @throws {Error} there are too many for one request. */
export async function matching(filter: string): Promise<Selection> {
  const address = addressOf(['machines'], { filter, limit: SELECTED_MAX });
  const { machines, total } = await read<{
    readonly machines: readonly MachineRow[];
    readonly total: number;
  }>(address, AbortSignal.timeout(READ_MAX_MS));
  if (total > machines.length) throw new Error(texts.acts.selectMost(SELECTED_MAX));
  return { ...changed(NOTHING, machines, true), filter };
}

/** What changed since the machines were selected. */
export async function driftOf({ machines, filter }: Selection, look: Look): Promise<Drift> {
  const now: Machines =
    filter === null
      ? new Map((await look()).machines.map(({ slot, machineId }) => [slot, machineId]))
      : (await matching(filter)).machines;
  const isOther = (slot: string) => now.has(slot) && now.get(slot) !== machines.get(slot);
  return {
    added: filter === null ? [] : [...now.keys()].filter((slot) => !machines.has(slot)),
    gone: filter === null ? [] : [...machines.keys()].filter((slot) => !now.has(slot)),
    replaced: [...machines.keys()].filter(isOther),
  };
}
