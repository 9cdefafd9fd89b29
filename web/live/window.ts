import type { MachineRow } from '../api/types.ts';
import { createStore } from './store.ts';

/** What is looked at of the list of machines. */
export interface WindowQuery {
  readonly filter: string;
  readonly sort: string;
  readonly offset: number;
  readonly limit: number;
}

/** The part of a list that the stream keeps as it is. */
export interface LiveWindow extends WindowQuery {
  readonly total: number;
  readonly order: readonly string[];
  readonly rows: ReadonlyMap<string, MachineRow>;
}
export const liveWindow = createStore<LiveWindow | null>(null);

export interface RowsNews {
  readonly total: number;
  readonly upserts: readonly MachineRow[];
  readonly removed: readonly string[];
  /** All slots of the window; absent: as they were. */
  readonly order?: readonly string[];
  /** How long before `atMs` machines were heard from, by their place in the window. */
  readonly heard?: Readonly<Record<number, number>>;
  readonly atMs?: number;
}

/** The window after what is new in it. `before` null: it begins. */
export function afterNews(
  before: LiveWindow | null,
  query: WindowQuery,
  { total, upserts, removed, order = before?.order ?? [], heard = {}, atMs = 0 }: RowsNews,
): LiveWindow {
  const rows = new Map(before?.rows);
  for (const slot of removed) rows.delete(slot);
  for (const row of upserts) rows.set(row.slot, row);
  for (const [place, agoMs] of Object.entries(heard)) {
    const row = rows.get(order[Number(place)] ?? '');
    if (row) rows.set(row.slot, { ...row, lastHeartbeatAtMs: atMs - agoMs });
  }
  return { ...query, total, rows, order };
}
