import type { Entries, PageMeta, Unread } from './schema.ts';

export interface Page<T> extends Entries<T> {
  readonly meta: PageMeta;
}
/**
 * What a listing saw. Without `complete` nothing may be concluded from absence, and with it not
 * everything: an item that is created while another one goes, or one that a shifted page hid from
 * both of two walks that agree, may be missing all the same. Whoever misses one asks for it by id.
 * What is among `unread` is there; an entry of which not even the id can be read may be anything.
 */
export interface Walked<T> extends Entries<T> {
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
  const unreadUnion = new Map<string, Unread>();
  let totalBefore: number | null = null;
  for (let walks = 1; walks <= WALKS_MAX; walks++) {
    const walk = await walkOnce(fetchPage);
    onWalk(walk.consistent);
    for (const item of walk.items) union.set(item.id, item);
    for (const entry of walk.unread) unreadUnion.set(entry.id ?? '', entry);
    const { items, unread } = walk;
    const named = unread.filter(({ id }) => id !== null);
    if (walk.consistent) return { items, unread: named, complete: named.length === unread.length };
    const agreed = walk.total !== null && walk.total === totalBefore;
    const seen = new Set([...union.keys(), ...unreadUnion.keys()]);
    if (agreed && !seen.has('') && seen.size === walk.total) return { ...all(), complete: true };
    totalBefore = walk.total;
  }
  return { ...all(), complete: false };

  /** What could be read once can be read. */
  function all(): Entries<T> {
    const unread = [...unreadUnion.values()].filter(({ id }) => id !== null && !union.has(id));
    return { items: [...union.values()], unread };
  }
}

async function walkOnce<T extends { readonly id: string }>(
  fetchPage: (page: number) => Promise<Page<T>>,
) {
  const items: T[] = [];
  const unread: Unread[] = [];
  const totals = new Set<number>();
  for (let number = 1; ; number++) {
    if (number > PAGES_MAX) throw new PageOrderError(`more than ${PAGES_MAX} pages`);
    const { items: found, unread: others, meta } = await fetchPage(number);
    if (meta.current_page !== number) throw new PageOrderError('the page number does not advance');
    items.push(...found);
    unread.push(...others);
    totals.add(meta.total);
    if (meta.next === undefined || meta.current_page >= meta.last_page) break;
  }
  const total = totals.size === 1 ? [...totals][0]! : null;
  const ids = [...items, ...unread].flatMap(({ id }) => id ?? []);
  const size = items.length + unread.length;
  const consistent = new Set(ids).size === ids.length && size === total;
  return { items, unread, total, consistent };
}
