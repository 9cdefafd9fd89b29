/** Where an item stands: its key, and a name that no other has. */
export interface Place {
  readonly key: string | number;
  readonly name: string;
}

export const comparePlaces = (a: Place, b: Place): number => {
  if (a.key !== b.key) return a.key < b.key ? -1 : 1;
  return a.name < b.name ? -1 : Number(a.name > b.name);
};

/** Long enough that there are few of them, short enough that one is moved in no time. */
const CHUNK_MAX = 512;

interface Chunk<Item> {
  items: Item[];
  /** A copy of the order holds it too: it must not be changed. */
  shared: boolean;
}

/** Part of an order, from a position on. */
export interface Sorted<Item> {
  readonly size: number;
  /** At most `limit` items from the position (0: the first). */
  slice(position: number, limit: number): Item[];
}

/**
 * Items that are kept sorted while they come and go, each in O(log n), with their positions. Arrays
 * of a few hundred, as a pointer each is all that an item costs here; a tree costs ten times that, and
 * the B-trees that there are as packages know no positions.
 */
export interface Order<Item> extends Sorted<Item> {
  insert(item: Item): void;
  has(item: Item): boolean;
  /** Before anything of its place changes. False: it was not there. */
  remove(item: Item): boolean;
  /** How many items stand before the place, or at it when `including`. */
  rank(place: Place, including: boolean): number;
  /** As it is now, whatever comes. */
  copy(): Sorted<Item>;
}

export function createOrder<Item>(placeOf: (item: Item) => Place): Order<Item> {
  const chunks: Chunk<Item>[] = [{ items: [], shared: false }];
  let size = 0;

  /** First position in an array where the place is not before the item; or beyond it. */
  const search = (items: readonly Item[], place: Place, including: boolean): number => {
    let low = 0;
    let high = items.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const found = comparePlaces(placeOf(items[middle]!), place);
      if (found < 0 || (including && found === 0)) low = middle + 1;
      else high = middle;
    }
    return low;
  };
  /** The first chunk whose last item is not before the place; the last one, where all are. */
  const chunkFor = (place: Place): number => {
    let low = 0;
    let high = chunks.length - 1;
    while (low < high) {
      const middle = (low + high) >>> 1;
      // Only the one chunk of an empty order is empty.
      if (comparePlaces(placeOf(chunks[middle]!.items.at(-1)!), place) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  };
  const own = (at: number): Item[] => {
    const chunk = chunks[at]!;
    if (chunk.shared) chunks[at] = { items: [...chunk.items], shared: false };
    return chunks[at]!.items;
  };

  return {
    get size() {
      return size;
    },
    insert(item) {
      const place = placeOf(item);
      const at = chunkFor(place);
      const items = own(at);
      items.splice(search(items, place, false), 0, item);
      size += 1;
      if (items.length <= CHUNK_MAX) return;
      chunks.splice(at + 1, 0, { items: items.splice(CHUNK_MAX / 2), shared: false });
    },
    has(item) {
      const place = placeOf(item);
      const { items } = chunks[chunkFor(place)]!;
      return items[search(items, place, false)] === item;
    },
    remove(item) {
      const place = placeOf(item);
      const at = chunkFor(place);
      const index = search(chunks[at]!.items, place, false);
      if (chunks[at]!.items[index] !== item) return false;
      const items = own(at);
      items.splice(index, 1);
      size -= 1;
      if (items.length === 0 && chunks.length > 1) chunks.splice(at, 1);
      return true;
    },
    rank(place, including) {
      const at = chunkFor(place);
      let before = 0;
      for (let each = 0; each < at; each += 1) before += chunks[each]!.items.length;
      return before + search(chunks[at]!.items, place, including);
    },
    slice: (position, limit) => sliceOf(chunks, position, limit),
    copy() {
      for (const chunk of chunks) chunk.shared = true;
      const copied = [...chunks];
      return { size, slice: (position, limit) => sliceOf(copied, position, limit) };
    },
  };
}

function sliceOf<Item>(chunks: readonly Chunk<Item>[], position: number, limit: number): Item[] {
  const found: Item[] = [];
  let skip = Math.max(0, position);
  for (const { items } of chunks) {
    if (skip >= items.length) {
      skip -= items.length;
      continue;
    }
    found.push(...items.slice(skip, skip + limit - found.length));
    skip = 0;
    if (found.length >= limit) break;
  }
  return found;
}
