import type { MachineRow } from '../api/types.ts';
import { createStore } from './store.ts';

/** The part of the list of machines that the reader looks at. */
export interface WindowQuery {
  readonly filter: string;
  readonly sort: string;
  readonly offset: number;
  readonly limit: number;
}

/** The part of a list that the stream keeps up to date. */
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
  /** All slots of the window. Absent: unchanged. */
  readonly order?: readonly string[];
  /** Time between the last heartbeat and `atMs`, by the index in the window. */
  readonly heard?: Readonly<Record<number, number>>;
  readonly atMs?: number;
}

/** The window after an update. With `before` null, the update is the first. */
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
