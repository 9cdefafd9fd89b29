import type { Clock } from '../../adapters/clock/port.ts';
import { sleep } from '../../adapters/clock/port.ts';
import type { MachineEntry } from '../port.ts';
import { type Matcher, placeBy, textOf, textOfEntry, type Row } from './row.ts';
import { comparePlaces, createOrder, type Order, type Place, type Sorted } from './order.ts';

/** Maximum milliseconds in one turn of the event loop. */
export const SLICE_MS = 5;
/** Rows between two checks of the clock. */
const STRIDE = 128;

type KeyOf = (entry: MachineEntry) => string | number;

export interface ListingOptions {
  readonly keyOf: KeyOf;
  /** Null: every machine. */
  readonly matches: Matcher | null;
  /** Its source: all rows, in the order of `sourceKeyOf`. */
  readonly source: Sorted<Row> & Pick<Order<Row>, 'rank'>;
  readonly sourceKeyOf: KeyOf;
  /** Returns a number that was never returned before. */
  readonly nextRevision: () => number;
  readonly clock: Clock;
  /** Database clock, epoch ms. */
  readonly nowMs: () => number;
}

/** The machines of one filter in one order, kept up to date. */
export interface Listing {
  readonly rows: Order<Row>;
  /** Changes whenever its machines or their order change; no two lists share a revision. */
  readonly revision: number;
  /** Monotonic time of the last check which machines match, in milliseconds. */
  readonly filledAtMs: number;
  /** Whether the change alters the list: `leave` is then called before it, `enter` after. */
  isTouched(row: Row, next: MachineEntry): boolean;
  leave(row: Row): void;
  enter(row: Row): void;
  /** Goes through all machines in slices, and applies changes that happen meanwhile. */
  fill(): Promise<void>;
}

interface Filling {
  readonly rows: Order<Row>;
  /** Progress in the order of the source; null: not begun. */
  reached: Place | null;
}

export function createListing(options: ListingOptions): Listing {
  const { keyOf, matches, source, sourceKeyOf, clock, nowMs, nextRevision } = options;
  const placeOf = placeBy(keyOf);
  const sourcePlaceOf = placeBy(sourceKeyOf);
  let rows = createOrder(placeOf);
  let filling: Filling | null = null;
  let revision = nextRevision();
  let filledAtMs = Number.NEGATIVE_INFINITY;

  const isIn = (row: Row) => matches === null || matches(row.entry, () => textOf(row), nowMs());
  const isReached = (row: Row, { reached }: Filling) =>
    reached !== null && comparePlaces(sourcePlaceOf(row), reached) <= 0;

  /** Runs one slice. True: it was the last. */
  const fillOn = (into: Filling): boolean => {
    const untilMs = clock.monotonic() + SLICE_MS;
    do {
      const position = into.reached === null ? 0 : source.rank(into.reached, true);
      const next = source.slice(position, STRIDE);
      for (const row of next) if (isIn(row)) into.rows.insert(row);
      const last = next.at(-1);
      if (last) into.reached = sourcePlaceOf(last);
      if (next.length < STRIDE) return true;
    } while (clock.monotonic() < untilMs);
    return false;
  };

  return {
    get rows() {
      return rows;
    },
    get revision() {
      return revision;
    },
    get filledAtMs() {
      return filledAtMs;
    },
    isTouched(row, next) {
      if (filling !== null || keyOf(row.entry) !== keyOf(next)) return true;
      if (matches === null) return false;
      let text: string | null = null;
      const after = matches(next, () => (text ??= textOfEntry(next)), nowMs());
      return rows.has(row) !== after;
    },
    leave(row) {
      if (rows.remove(row)) revision = nextRevision();
      filling?.rows.remove(row);
    },
    enter(row) {
      if (!isIn(row)) return;
      if (filledAtMs !== Number.NEGATIVE_INFINITY) {
        rows.insert(row);
        revision = nextRevision();
      }
      if (filling && isReached(row, filling)) filling.rows.insert(row);
    },
    async fill() {
      const into: Filling = { rows: createOrder(placeOf), reached: null };
      filling = into;
      while (!fillOn(into)) await sleep(clock, 0);
      filling = null;
      filledAtMs = clock.monotonic();
      if (!isSame(rows, into.rows)) revision = nextRevision();
      rows = into.rows;
    },
  };
}

function isSame(a: Sorted<Row>, b: Sorted<Row>): boolean {
  if (a.size !== b.size) return false;
  const others = b.slice(0, b.size);
  return a.slice(0, a.size).every((row, at) => row === others[at]);
}
