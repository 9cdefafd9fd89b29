import { type KnobValues, refusal } from './api.ts';

/** The requested page. @throws {ApiRefusal} 400: the values are invalid. */
export function pagingOf(query: ReadonlyMap<string, string>, { limitMax }: KnobValues) {
  const number = (name: string, usual: number) => {
    const text = query.get(name);
    if (text === undefined) return usual;
    if (!/^[1-9]\d{0,8}$/.test(text)) throw refusal(400, `${name} must be a number from 1`);
    return Number(text);
  };
  return { page: number('page', 1), limit: Math.min(limitMax, number('limit', 10)) };
}

/** A page of a list, in the configured form. */
export function pageView<T>(
  all: readonly T[],
  { page, limit }: { readonly page: number; readonly limit: number },
  { listForm }: KnobValues,
): unknown {
  const data = all.slice((page - 1) * limit, page * limit);
  if (listForm === 'array') return data;
  const total_pages = Math.ceil(all.length / limit);
  const paged = { page, total_pages, total_items: all.length, limit, data };
  return listForm === 'paged' ? paged : { state: 'success', messages: [], data: paged };
}

/**
 * The inner query of `filters`, which is encoded once more than the rest. If it is encoded only
 * once, it splits into parameters of the outer query.
 * @returns null with a reason: nothing matches such a filter.
 */
export function filtersOf(
  query: ReadonlyMap<string, string>,
  known: readonly string[],
): { readonly filters: ReadonlyMap<string, string> | null; readonly complaint?: string } {
  const stray = [...query.keys()].find((name) => !['filters', 'page', 'limit'].includes(name));
  if (stray !== undefined) {
    return {
      filters: null,
      complaint: `parameter ${stray} is no part of the query: is filters escaped?`,
    };
  }
  const text = query.get('filters');
  if (text === undefined) return { filters: new Map() };
  const filters = new Map(new URLSearchParams(text));
  const unknown = [...filters.keys()].find((name) => !known.includes(name));
  return unknown === undefined
    ? { filters }
    : { filters: null, complaint: `there is no filter ${unknown}` };
}
