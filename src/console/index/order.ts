/** Where an item stands: its key, and a name that no other has. */
export interface Place {
  readonly key: string | number;
  readonly name: string;
}

export const comparePlaces = (a: Place, b: Place): number => {
  if (a.key !== b.key) return a.key < b.key ? -1 : 1;
  return a.name < b.name ? -1 : Number(a.name > b.name);
};

/** Part of an order, from a position on. */
export interface Sorted<Item> {
  readonly size: number;
  /** At most `limit` items from the position (0: the first). */
  slice(position: number, limit: number): Item[];
}

/**
 * Items that are kept sorted while they come and go, with their positions. An array, since a pointer is
 * all that an item costs in it; a tree costs ten times that.
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
  let items: Item[] = [];
  /** A copy of the order holds the array too: it must not be changed. */
  let isShared = false;

  /** First position where the place is not before the item; or beyond it. */
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
