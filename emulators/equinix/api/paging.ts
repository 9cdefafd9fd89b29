import type { Generator } from '../../kit/random.ts';

/** Query parameters by name; a repeated one is joined with commas. */
export type Query = ReadonlyMap<string, string>;

export type PageDisturbance = 'shuffle' | 'duplicate' | 'omit' | 'totalDrift';

export interface PageRequest<T> {
  /** All of the list, in its order. */
  readonly items: readonly T[];
  readonly query: Query;
  /** Path below the base, for the hrefs of meta. */
  readonly path: string;
  readonly hrefPrefix: string;
  readonly maxPerPage: number;
  readonly chance: Generator;
  readonly disturbance?: PageDisturbance | undefined;
}

const DEFAULT_PER_PAGE = 10;

/** One page of a list, and the `meta` that goes with it. */
export function pageOf<T>(request: PageRequest<T>): { items: T[]; meta: object } {
  const { query, chance, disturbance } = request;
  const perPage = wholeNumber(query.get('per_page'), DEFAULT_PER_PAGE, request.maxPerPage);
  const page = wholeNumber(query.get('page'), 1, Number.MAX_SAFE_INTEGER);
  const sorted = request.items;
  const items = sorted.slice((page - 1) * perPage, page * perPage);
  if (disturbance === 'omit' && items.length > 0) {
    items.splice(Math.floor(chance.next() * items.length), 1);
  }
  if (disturbance === 'duplicate' && items.length > 0) {
    const other = sorted[Math.floor(chance.next() * sorted.length)]!;
    items[Math.floor(chance.next() * items.length)] = other;
  }
  const drift = disturbance === 'totalDrift' ? Math.floor(chance.next() * 3) - 1 : 0;
  const total = Math.max(0, sorted.length + drift);
  return { items, meta: metaOf(request, { total, page, perPage, size: sorted.length }) };
}

/** What is not a number takes the default; what is too small or too large is clamped. */
function wholeNumber(text: string | undefined, fallback: number, max: number): number {
  const value = text !== undefined && /^-?\d+$/.test(text) ? Number(text) : fallback;
  return Math.min(max, Math.max(1, value));
}

function metaOf(
  { query, path, hrefPrefix }: Pick<PageRequest<never>, 'query' | 'path' | 'hrefPrefix'>,
  at: { total: number; page: number; perPage: number; size: number },
): object {
  const last = Math.max(1, Math.ceil(at.size / at.perPage));
  const link = (page: number) => {
    const search = new URLSearchParams([...query.entries()].filter(([name]) => name !== 'page'));
    search.set('page', String(page));
    return { href: `${hrefPrefix}${path}?${search.toString()}` };
  };
  return {
    total: at.total,
    current_page: at.page,
    last_page: last,
    first: link(1),
    self: link(at.page),
    previous: at.page > 1 ? link(Math.min(at.page - 1, last)) : null,
    next: at.page < last ? link(at.page + 1) : null,
    last: link(last),
  };
}
