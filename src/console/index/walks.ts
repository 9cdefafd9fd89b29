import type { Clock } from '../../adapters/clock/port.ts';
import type { Listing } from './listing.ts';
import { type Place, type Sorted } from './order.ts';
import { placeBy, sortKeyOf, type Row, type Sort } from './row.ts';

/** Continuation token of a caller that follows `next`; opaque to the caller. */
interface Token {
  /** Number of the walk. */
  readonly w: number;
  /** Rows delivered so far. */
  readonly n: number;
  /** Place of the last row, for when the walk is no longer kept. */
  readonly k: Place['key'] | null;
  readonly s: string;
}

/** Maximum walks in progress; a new walk replaces the one idle longest. */
export const WALKS_MAX = 32;
/** An idle walk is forgotten after this time. */
const REST_MS = 60_000;

interface Walk {
  readonly rows: Sorted<Row>;
  usedAtMs: number;
}

export interface WalkQuery {
  readonly listing: Listing;
  readonly sort: Sort;
  readonly descending: boolean;
  readonly limit: number;
}
export interface WalkPage {
  readonly rows: readonly Row[];
  readonly next: string | null;
}

/**
 * Lists that programs follow from page to page. All pages show the list as it was at the first
 * page, so that no machine is repeated or left out because it moved. If the walk is no longer kept
 * (another daemon answers, or a minute has passed), it continues after the last machine.
 */
export interface Walks {
  page(query: WalkQuery, after: string | null): WalkPage | null;
}

export function createWalks(clock: Pick<Clock, 'monotonic'>): Walks {
  const walks = new Map<number, Walk>();
  let last = 0;

  const keep = (number: number, walk: Walk) => {
    walks.delete(number);
    walks.set(number, walk);
    for (const [old, { usedAtMs }] of walks) {
      if (walks.size <= WALKS_MAX && clock.monotonic() - usedAtMs < REST_MS) return;
      walks.delete(old);
    }
  };
  const begin = ({ listing }: WalkQuery, had: number, number: number): [Walk, number, number] => [
    { rows: listing.rows.copy(), usedAtMs: 0 },
    had,
    number,
  ];
  const goOn = (query: WalkQuery, token: Token): [Walk, number, number] => {
    const known = walks.get(token.w);
    if (known) return [known, token.n, token.w];
    const { rows } = query.listing;
    const place = { key: token.k ?? Number.NEGATIVE_INFINITY, name: token.s };
    const before = rows.rank(place, !query.descending);
    return begin(query, query.descending ? rows.size - before : before, (last += 1));
  };

  return {
    page(query, after) {
      const token = after === null ? null : readToken(after);
      if (after !== null && token === null) return null;
      const [walk, had, number] = token ? goOn(query, token) : begin(query, 0, (last += 1));
      const rows = readPage(walk.rows, { offset: had, ...query });
      const seen = had + rows.length;
      const end = rows.at(-1);
      if (!end || seen >= walk.rows.size) return { rows: present(rows), next: null };
      walk.usedAtMs = clock.monotonic();
      keep(number, walk);
      const { key, name } = placeBy(sortKeyOf(query.sort))(end);
      const k = key === Number.NEGATIVE_INFINITY ? null : key;
      return { rows: present(rows), next: writeToken({ w: number, n: seen, k, s: name }) };
    },
  };
}

const present = (rows: readonly Row[]): readonly Row[] => rows.filter(({ gone }) => !gone);

/** Rows from an offset on, counted backwards from the end when descending. */
export function readPage(
  rows: Sorted<Row>,
  page: { readonly offset: number; readonly limit: number; readonly descending: boolean },
): Row[] {
  const { offset, limit, descending } = page;
  if (!descending) return rows.slice(offset, limit);
  const end = Math.max(0, rows.size - offset);
  const start = Math.max(0, end - limit);
  return rows.slice(start, end - start).toReversed();
}

const writeToken = (token: Token): string =>
  Buffer.from(JSON.stringify(token)).toString('base64url');

function readToken(text: string): Token | null {
  try {
    const found = JSON.parse(Buffer.from(text, 'base64url').toString('utf8')) as Partial<Token>;
    const { w, n, k = null, s } = found;
    if (typeof w !== 'number' || typeof n !== 'number' || typeof s !== 'string') return null;
    return k === null || typeof k === 'number' || typeof k === 'string' ? { w, n, k, s } : null;
  } catch {
    return null;
  }
}
