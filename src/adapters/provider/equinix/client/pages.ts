import type { PageMeta } from './schema.ts';

export interface Page<T> {
  readonly items: readonly T[];
  readonly meta: PageMeta;
}
/**
 * What a listing saw. Without `complete` nothing may be concluded from absence, and with it not
 * everything: an item that is created while another one goes, or one that a shifted page hid from
 * both of two walks that agree, may be missing all the same. Whoever misses one asks for it by id.
 */
export interface Walked<T> {
  readonly items: readonly T[];
  readonly complete: boolean;
}

const WALKS_MAX = 3;
const PAGES_MAX = 10_000;

/** The page numbers do not advance as agreed, or never end. */
export class PageOrderError extends Error {}

/**
 * Reads all pages. Pages of this API shift while they are read, so a walk counts only when it is
 * consistent: one total, no id twice, as many ids as the total. Otherwise it is repeated, the union
 * is kept, and the union counts when it has the size of a total that two walks agree on. The size
 * cannot tell an item that went during the walks from one that was never seen.
 * @param onWalk hears of each walk whether it was consistent.
 * @throws {PageOrderError}
 */
export async function walkPages<T extends { readonly id: string }>(
  fetchPage: (page: number) => Promise<Page<T>>,
  onWalk: (consistent: boolean) => void = () => undefined,
): Promise<Walked<T>> {
  const union = new Map<string, T>();
  let totalBefore: number | null = null;
  for (let walks = 1; walks <= WALKS_MAX; walks++) {
    const walk = await walkOnce(fetchPage);
    onWalk(walk.consistent);
    for (const item of walk.items) union.set(item.id, item);
    if (walk.consistent) return { items: walk.items, complete: true };
    const agreed = walk.total !== null && walk.total === totalBefore;
    if (agreed && union.size === walk.total) return { items: [...union.values()], complete: true };
    totalBefore = walk.total;
  }
  return { items: [...union.values()], complete: false };
}

async function walkOnce<T extends { readonly id: string }>(
  fetchPage: (page: number) => Promise<Page<T>>,
) {
  const items: T[] = [];
  const totals = new Set<number>();
  for (let number = 1; ; number++) {
    if (number > PAGES_MAX) throw new PageOrderError(`more than ${PAGES_MAX} pages`);
    const { items: found, meta } = await fetchPage(number);
    if (meta.current_page !== number) throw new PageOrderError('the page number does not advance');
    items.push(...found);
    totals.add(meta.total);
    if (meta.next === undefined || meta.current_page >= meta.last_page) break;
  }
  const total = totals.size === 1 ? [...totals][0]! : null;
  const unique = new Set(items.map(({ id }) => id)).size;
  return { items, total, consistent: unique === items.length && unique === total };
}
