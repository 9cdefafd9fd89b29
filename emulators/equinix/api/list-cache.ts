import type { Core } from '../core.ts';
import type { Call } from './call.ts';
import type { Node } from './expansion.ts';

/** A list as it is paged. */
export interface Paged<T> {
  /** Called only when nobody asked the same since the last change. */
  readonly items: () => readonly T[];
  readonly view: (item: T) => Node;
  readonly sortValue: (item: T, field: string) => SortValue;
}

/** What a field is sorted by; undefined for a field that does not exist. */
export type SortValue = string | number | boolean | undefined;

/** Puts a list in the order that a call asks for. */
export type Ordered = <T>(call: Call, list: Paged<T>) => readonly T[];

/** Lists kept; a client reads one or two at a time. */
const KEEP = 8;
/** What a list does not depend on: which part of it is asked for, and how it is shown. */
const NOT_IN_KEY = new Set(['page', 'per_page', 'include', 'exclude']);

/**
 * Filtering and sorting a long list once for all of its pages, as long as nothing changes in
 * between. Without it ten thousand devices would be sorted a hundred times for one listing.
 */
export function createListCache(core: Core): Ordered {
  const kept = new Map<string, { revision: number; items: readonly unknown[] }>();
  return (call, list) => {
    const { pages, staleDeviceMs } = call.disturbance;
    const isSorted = call.query.has('sort_by');
    const shuffles = pages === 'shuffle' || (core.knobs.shuffleUnsorted && !isSorted);
    if (shuffles || staleDeviceMs > 0) return sort(core, call, list);
    const key = keyOf(call);
    const known = kept.get(key);
    if (known?.revision === core.revision()) return known.items as ReturnType<typeof list.items>;
    const items = sort(core, call, list);
    kept.delete(key);
    kept.set(key, { revision: core.revision(), items });
    if (kept.size > KEEP) kept.delete(kept.keys().next().value!);
    return items;
  };
}

const keyOf = ({ caller, path, query }: Call): string =>
  JSON.stringify([
    caller.organizationId,
    caller.projectId,
    path,
    [...query].filter(([name]) => !NOT_IN_KEY.has(name)),
  ]);

/** Under `shuffle` equal values come in any order; an unknown field sorts nothing. */
function sort<T>({ chance, knobs }: Core, { query, disturbance }: Call, list: Paged<T>): T[] {
  const items = list.items();
  const field = query.get('sort_by');
  const isUnstable = disturbance.pages === 'shuffle';
  const keyed =
    field === undefined
      ? []
      : items.map((item): [T, SortValue] => [item, list.sortValue(item, field)]);
  if (!keyed.some(([, value]) => value !== undefined)) {
    return isUnstable || knobs.shuffleUnsorted ? chance.shuffle(items) : [...items];
  }
  const sign = query.get('sort_direction')?.toLowerCase() === 'desc' ? -1 : 1;
  return (isUnstable ? chance.shuffle(keyed) : keyed)
    .toSorted(([, a], [, b]) => sign * compare(a, b))
    .map(([item]) => item);
}

function compare(a: SortValue, b: SortValue): number {
  if (a === b) return 0;
  if (a === undefined || b === undefined) return a === undefined ? 1 : -1;
  return a < b ? -1 : 1;
}
