import { keepPreviousData, useQueries } from '@tanstack/react-query';
import { addressOf, read } from '../../api/ask.ts';
import type { MachineRow } from '../../api/types.ts';
import { useView } from '../../live/connection.ts';
import { useStore } from '../../live/store.ts';
import { liveWindow, type LiveWindow } from '../../live/window.ts';

interface Part {
  readonly total: number;
  readonly machines: readonly MachineRow[];
}

/** Number of rows in one request. */
const PART_ROWS = 100;
/** Number of rows around the visible part that the stream keeps up to date. */
const LIVE_ROWS = 200;
/** A loaded part counts as stale after this time. */
const STALE_MS = 2_000;

export interface Listed {
  /** Machines that match; null: not known yet. */
  readonly total: number | null;
  /** Undefined: not loaded yet. */
  row(index: number): MachineRow | undefined;
  /** The error of the last request. */
  readonly error: Error | null;
}

export interface Wanted {
  /** Null: the filter is not valid, so no list is loaded. */
  readonly filter: string | null;
  readonly sort: string;
  /** The visible rows. */
  readonly first: number;
  readonly last: number;
}

/**
 * The visible part of the list, in the order of the server. After a jump the rows are loaded at once.
 * When the scrolling ends, the stream keeps them up to date.
 */
export function useList({ filter, sort, first, last }: Wanted): Listed {
  const from = Math.floor(first / PART_ROWS) * PART_ROWS;
  useView(
    filter === null
      ? { view: 'fleet' }
      : { view: 'list', filter, sort, offset: from, limit: LIVE_ROWS },
  );
  const live = matching(useStore(liveWindow), filter, sort);
  const isLive = live !== null && live.offset <= first && last < live.offset + LIVE_ROWS;
  const offsets = isLive || filter === null ? [] : offsetsOf(from, last);
  const parts = useQueries({
    queries: offsets.map((offset) => ({
      queryKey: ['machines', filter, sort, offset],
      queryFn: ({ signal }: { signal: AbortSignal }) =>
        read<Part>(
          addressOf(['machines'], { filter: filter ?? '', sort, offset, limit: PART_ROWS }),
          signal,
        ),
      placeholderData: keepPreviousData<Part>,
      staleTime: STALE_MS,
      retry: false,
    })),
  });
  const byOffset = new Map(offsets.map((offset, at) => [offset, parts[at]?.data]));
  return {
    total: live?.total ?? parts.find(({ data }) => data !== undefined)?.data?.total ?? null,
    row(index) {
      const offset = index - (index % PART_ROWS);
      return liveRow(live, index) ?? byOffset.get(offset)?.machines[index - offset];
    },
    error: parts.find(({ error }) => error !== null)?.error ?? null,
  };
}

const matching = (
  live: LiveWindow | null,
  filter: string | null,
  sort: string,
): LiveWindow | null => (live?.filter === filter && live.sort === sort ? live : null);

const offsetsOf = (from: number, last: number): readonly number[] =>
  Array.from(
    { length: Math.floor((last - from) / PART_ROWS) + 1 },
    (_, at) => from + at * PART_ROWS,
  );

function liveRow(live: LiveWindow | null, index: number): MachineRow | undefined {
  const slot = live?.order[index - live.offset];
  return slot === undefined ? undefined : live?.rows.get(slot);
}
