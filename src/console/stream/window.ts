import type { Slot } from '../../domain/ids.ts';
import type { MachineEntry } from '../port.ts';
import { isHeartbeat } from '../index/machine-index.ts';
import type { Listing } from '../index/listing.ts';
import type { Row } from '../index/row.ts';
import { readPage } from '../index/walks.ts';

export interface WindowQuery {
  readonly offset: number;
  readonly limit: number;
  readonly descending: boolean;
}

/** News for the reader of a window. An absent key means no change. */
export interface WindowNews {
  readonly revision: number;
  readonly total: number;
  /** New or changed machines of the window. */
  readonly upserts: readonly Row[];
  /** Machines that left the window. */
  readonly removed: readonly Slot[];
  /** All machines of the window in order; absent: unchanged. */
  readonly order?: readonly Slot[];
  /** Heartbeat times of otherwise unchanged machines, by place in the window, from 0. */
  readonly heard: ReadonlyMap<number, number>;
}

/** Follows a window of a listing for one reader, and remembers what was sent. */
export interface Window {
  /** Revision of the list last sent. */
  readonly revision: number;
  /** Whether the reader's copy is outdated. */
  readonly isDirty: boolean;
  /** The same, apart from heartbeat times. */
  readonly isStale: boolean;
  onChange(row: Row, before: MachineEntry | null): void;
  /** Returns what the reader does not know yet, and counts it as sent. */
  take(): WindowNews | null;
}

/**
 * @param known for a reader that returns and has seen the current window: which of its machines
 * changed since. Absent: it has seen nothing.
 */
export function createWindow(
  listing: Listing,
  query: WindowQuery,
  known?: ReadonlySet<Slot>,
): Window {
  const read = () => readPage(listing.rows, query);
  let order: readonly Slot[] = known ? read().map(({ slot }) => slot) : [];
  let inside = new Set(order);
  let revision = known ? listing.revision : -1;
  let total = known ? listing.rows.size : -1;
  const changed = new Set<Slot>(order.filter((slot) => known?.has(slot)));
  const heard = new Set<Slot>();
  const isStale = () => revision !== listing.revision || changed.size > 0;

  return {
    get revision() {
      return revision;
    },
    get isStale() {
      return isStale();
    },
    get isDirty() {
      return isStale() || heard.size > 0;
    },
    onChange(row, before) {
      if (!inside.has(row.slot)) return;
      const { lastHeartbeatAtMs } = row.entry.view;
      const isHeard = lastHeartbeatAtMs !== null && before && isHeartbeat(before, row.entry);
      if (isHeard) heard.add(row.slot);
      else changed.add(row.slot);
    },
    take() {
      if (!isStale() && heard.size === 0) return null;
      const rows = read();
      const slots = rows.map(({ slot }) => slot);
      const now = new Set(slots);
      const isOther = slots.length !== order.length || slots.some((slot, at) => slot !== order[at]);
      const news: WindowNews = {
        revision: listing.revision,
        total: listing.rows.size,
        upserts: rows.filter(({ slot }) => !inside.has(slot) || changed.has(slot)),
        removed: order.filter((slot) => !now.has(slot)),
        ...(isOther && { order: slots }),
        heard: new Map(
          rows.flatMap(({ slot, entry }, place) =>
            inside.has(slot) && heard.has(slot) && !changed.has(slot)
              ? [[place, Math.round(entry.view.lastHeartbeatAtMs!)] as const]
              : [],
          ),
        ),
      };
      const isNews =
        isOther || news.upserts.length > 0 || news.heard.size > 0 || total !== news.total;
      [order, inside, revision, total] = [slots, now, news.revision, news.total];
      changed.clear();
      heard.clear();
      return isNews ? news : null;
    },
  };
}
