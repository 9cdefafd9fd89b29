import type { ApiAnswer } from '../../kit/api.ts';
import type { EquinixCore } from '../core.ts';
import type { EquinixCall } from './call.ts';
import { expand, type Node } from './expansion.ts';

/** Sort key of a field; undefined for fields without sorting. */
type SortValue = string | number | undefined;

/** A list that is paged. */
export interface Paged<T> {
  /** Called only if nobody has asked the same since the last change. */
  readonly items: () => readonly T[];
  readonly view: (item: T) => Node;
  readonly sortValue?: (item: T, field: string) => SortValue;
}

/** Number of kept lists; a client reads one or two at a time. */
const KEEP = 8;
/** Parameters that do not change a list: page and presentation. */
const NOT_IN_KEY = new Set(['page', 'per_page', 'include', 'exclude']);
const PER_PAGE = 10;
const PER_PAGE_MAX = 1_000;

/** Answers with one page of a list under `name`, and with `meta`. */
export type Lists = <T>(call: EquinixCall, name: string, list: Paged<T>) => ApiAnswer;

/**
 * Filters and sorts a long list once for all its pages, while nothing changes in between. Otherwise
 * a listing of ten thousand devices would sort them a hundred times.
 */
export function createLists({ revision, chance }: Pick<EquinixCore, 'revision' | 'chance'>): Lists {
  const kept = new Map<string, { revision: number; items: readonly unknown[] }>();
  const sorted = <T>(call: EquinixCall, list: Paged<T>): readonly T[] => {
    // A late reader's view changes with time alone.
    if (call.lag.deviceMs > 0) return sort(call, list);
    const { token, path, query } = call;
    const words = [...query].filter(([name]) => !NOT_IN_KEY.has(name));
    const key = JSON.stringify([token.projectId, path, words]);
    const known = kept.get(key);
    if (known?.revision === revision()) return known.items as readonly T[];
    const items = sort(call, list);
    kept.delete(key);
    kept.set(key, { revision: revision(), items });
    if (kept.size > KEEP) kept.delete(kept.keys().next().value!);
    return items;
  };

  return (call, name, list) => {
    const all = sorted(call, list);
    const perPage = wholeNumber(call.query.get('per_page'), PER_PAGE, PER_PAGE_MAX);
    const page = wholeNumber(call.query.get('page'), 1, Number.MAX_SAFE_INTEGER);
    const items = all.slice((page - 1) * perPage, page * perPage);
    const mode = call.strike('unstablePages')?.mode;
    if (mode === 'omit') items.splice(Math.floor(chance.next() * items.length), 1);
    const drift = mode === 'totalDrift' ? Math.floor(chance.next() * 3) - 1 : 0;
    const last = Math.max(1, Math.ceil(all.length / perPage));
    const total = Math.max(0, all.length + drift);
    const shown = items.map((item) => expand(list.view(item), call.query));
    return { status: 200, body: { [name]: shown, meta: metaOf(call, { total, page, last }) } };
  };
}

/** An unknown field sorts nothing. */
function sort<T>(
  { query }: EquinixCall,
  { items, sortValue = () => undefined }: Paged<T>,
): readonly T[] {
  const field = query.get('sort_by');
  if (field === undefined) return items();
  const sign = query.get('sort_direction')?.toLowerCase() === 'desc' ? -1 : 1;
  return items()
    .map((item) => ({ item, value: sortValue(item, field) ?? '' }))
    .toSorted((a, b) => (a.value === b.value ? 0 : a.value < b.value ? -sign : sign))
    .map(({ item }) => item);
}

/** Other text takes the default; values out of range are clamped. */
function wholeNumber(text: string | undefined, fallback: number, max: number): number {
  const value = text !== undefined && /^-?\d+$/.test(text) ? Number(text) : fallback;
  return Math.min(max, Math.max(1, value));
}

function metaOf(
  { query, path }: EquinixCall,
  at: { total: number; page: number; last: number },
): object {
  const link = (page: number) => {
    const others = [...query].filter(([name]) => name !== 'page');
    const search = new URLSearchParams([...others, ['page', String(page)]]);
    return { href: `${path}?${search.toString()}` };
  };
  return {
    total: at.total,
    current_page: at.page,
    last_page: at.last,
    first: link(1),
    self: link(at.page),
    previous: at.page > 1 ? link(Math.min(at.page - 1, at.last)) : null,
    next: at.page < at.last ? link(at.page + 1) : null,
    last: link(at.last),
  };
}
