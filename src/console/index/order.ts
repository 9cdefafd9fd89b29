/** Place of an item: its key, and a unique name. */
export interface Place {
  readonly key: string | number;
  readonly name: string;
}

export const comparePlaces = (a: Place, b: Place): number => {
  if (a.key !== b.key) return a.key < b.key ? -1 : 1;
  return a.name < b.name ? -1 : Number(a.name > b.name);
};

/** Part of an order, starting at a position. */
export interface Sorted<Item> {
  readonly size: number;
  /** At most `limit` items from the position (0: the first). */
  slice(position: number, limit: number): Item[];
}

/**
 * Keeps items sorted while they come and go, with their positions. An array, because it costs one
 * pointer per item; a tree costs ten times that.
 */
export interface Order<Item> extends Sorted<Item> {
  insert(item: Item): void;
  has(item: Item): boolean;
  /** Call it before any part of its place changes. False: it was not there. */
  remove(item: Item): boolean;
  /** Number of items before the place, or at it when `including`. */
  rank(place: Place, including: boolean): number;
  /** A snapshot that later changes do not affect. */
  copy(): Sorted<Item>;
}

export function createOrder<Item>(placeOf: (item: Item) => Place): Order<Item> {
  let items: Item[] = [];
  /** A copy of the order shares the array, so it must not be changed. */
  let isShared = false;

  /** First position whose item is not before the place. */
  const search = (place: Place, including: boolean): number => {
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
  const indexOf = (item: Item): number | null => {
    const index = search(placeOf(item), false);
    return items[index] === item ? index : null;
  };
  const own = (): Item[] => {
    if (isShared) items = [...items];
    isShared = false;
    return items;
  };

  return {
    get size() {
      return items.length;
    },
    insert(item) {
      own().splice(search(placeOf(item), false), 0, item);
    },
    has: (item) => indexOf(item) !== null,
    remove(item) {
      const index = indexOf(item);
      if (index !== null) own().splice(index, 1);
      return index !== null;
    },
    rank: search,
    slice: (position, limit) => sliceOf(items, position, limit),
    copy() {
      isShared = true;
      const copied = items;
      return { size: copied.length, slice: (position, limit) => sliceOf(copied, position, limit) };
    },
  };
}

const sliceOf = <Item>(items: readonly Item[], position: number, limit: number): Item[] => {
  const start = Math.max(0, position);
  return items.slice(start, start + limit);
};
