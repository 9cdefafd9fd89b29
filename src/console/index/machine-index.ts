import type { Observable, Subscription } from 'rxjs';
import type { Clock } from '../../adapters/clock/port.ts';
import { shareWord, type ShareWord } from '../../domain/headline.ts';
import type { Slot } from '../../domain/ids.ts';
import { filterKey, isTimed, type MachineFilter } from '../../domain/machine-filter.ts';
import type { MachineState } from '../../domain/states.ts';
import { sameData } from '../../lib/data.ts';
import type { EntryChange, MachineEntry } from '../port.ts';
import { createListing, type Listing, type ListingOptions } from './listing.ts';
import { matcherOf, type MatchMeans, sortKeyOf, type Row, type Sort } from './row.ts';

export interface IndexDeps extends MatchMeans {
  readonly entries: ReadonlyMap<Slot, MachineEntry>;
  readonly entryChanges$: Observable<EntryChange>;
  readonly clock: Clock;
  /** Database clock, epoch ms. */
  readonly nowMs: () => number;
}

/** Every machine in every requested order, updated by each change. */
export interface MachineIndex {
  readonly size: number;
  row(slot: Slot): Row | undefined;
  /**
   * The machines of a filter in an order. A listing stays current while it is held or among the
   * last {@link LISTINGS_KEPT} requested; request it anew each time.
   */
  listing(filter: MachineFilter, sort: Sort): Promise<Listing>;
  /** Keeps the listing, whatever else is requested. Returns its release. */
  hold(listing: Listing): () => void;
  /** Calls the listener once every listing has the change. Returns the unsubscription. */
  onChange(listener: ChangeListener): () => void;
  close(): void;
}
/** @param before null: the machine is new. @param after null: it vanished. */
export type ChangeListener = (
  row: Row,
  before: MachineEntry | null,
  after: MachineEntry | null,
) => void;

/** Listings with a filter; those without are as many as the sorts. */
export const LISTINGS_KEPT = 16;
/** Minimum time between two evaluations of a filter that depends on time. */
const TIMED_MS = 1_000;

interface Kept {
  readonly listing: Listing;
  readonly timed: boolean;
  /** Without a filter. */
  readonly isPlain: boolean;
  /** While it is being filled, the first time or again. */
  filling: Promise<void> | null;
  holders: number;
}

export function createMachineIndex(deps: IndexDeps): MachineIndex {
  const { clock, nowMs } = deps;
  let revisions = 0;
  const common = { clock, nowMs, nextRevision: () => (revisions += 1) };
  const rows = new Map<Slot, Row>();
  /** By sort and filter; the last requested comes last. */
  const kept = new Map<string, Kept>();
  const listeners = new Set<ChangeListener>();
  const all = () => [...kept.values()].map(({ listing }) => listing);

  const change = (slot: Slot, next: MachineEntry | null): void => {
    const known = rows.get(slot);
    if (!known) {
      if (next) add({ slot, entry: next, text: null, gone: false });
      return;
    }
    const before = known.entry;
    const touched = all().filter((each) => next === null || each.isTouched(known, next));
    for (const each of touched) each.leave(known);
    if (next === null) {
      rows.delete(slot);
      known.gone = true;
    } else {
      known.entry = next;
      if (!isHeartbeat(before, next)) known.text = null;
      for (const each of touched) each.enter(known);
    }
    for (const tell of listeners) tell(known, before, next);
  };
  const add = (row: Row) => {
    rows.set(row.slot, row);
    for (const each of all()) each.enter(row);
    for (const tell of listeners) tell(row, null, row.entry);
  };

  const keep = (key: string, make: () => Omit<Kept, 'filling'>): Kept => {
    const one = kept.get(key) ?? { ...make(), filling: null };
    kept.delete(key);
    kept.set(key, one);
    return one;
  };
  const ordered = (sort: Sort, of: Pick<ListingOptions, 'matches' | 'source'>, from: Sort) =>
    createListing({ keyOf: sortKeyOf(sort), ...of, sourceKeyOf: sortKeyOf(from), ...common });
  /** Listings without a filter, kept for good; all other listings are filled from them. */
  const plainBy = (sort: Sort): Kept =>
    keep(sort, () => ({
      listing: ordered(sort, { matches: null, source: bySlot }, 'slot'),
      ...{ timed: false, isPlain: true, holders: 1 },
    }));
  const filteredBy = (filter: MachineFilter, sort: Sort): Kept => {
    const source = plainBy(sort).listing.rows;
    const one = keep(`${sort} ${filterKey(filter)}`, () => ({
      listing: ordered(sort, { matches: matcherOf(filter, deps), source }, sort),
      ...{ timed: isTimed(filter), isPlain: false, holders: 0 },
    }));
    const filtered = [...kept].filter(([, { isPlain }]) => !isPlain);
    let spare = filtered.length - LISTINGS_KEPT;
    for (const [key, { holders, filling }] of filtered) {
      if (spare > 0 && holders === 0 && filling === null && kept.delete(key)) spare -= 1;
    }
    return one;
  };
  const current = async (one: Kept): Promise<Listing> => {
    const { listing, timed } = one;
    const age = clock.monotonic() - listing.filledAtMs;
    if (age === Number.POSITIVE_INFINITY || (timed && age >= TIMED_MS)) {
      one.filling ??= listing.fill().finally(() => (one.filling = null));
      await one.filling;
    }
    return listing;
  };

  const nothing = { size: 0, slice: () => [], rank: () => 0 };
  const slots = ordered('slot', { matches: null, source: nothing }, 'slot');
  // Empty, so this finishes at once; from then on changes keep it current.
  void slots.fill();
  keep('slot', () => ({ listing: slots, timed: false, isPlain: true, holders: 1 }));
  const bySlot = slots.rows;
  for (const [slot, entry] of deps.entries) change(slot, entry);
  const watching: Subscription = deps.entryChanges$.subscribe((news) =>
    news.type === 'changed' ? change(news.entry.view.slot, news.entry) : change(news.slot, null),
  );

  return {
    get size() {
      return rows.size;
    },
    row: (slot) => rows.get(slot),
    async listing(filter, sort) {
      const plain = await current(plainBy(sort));
      if (filter.terms.length === 0) return plain;
      return current(filteredBy(filter, sort));
    },
    hold(listing) {
      const one = [...kept.values()].find((each) => each.listing === listing);
      if (one) one.holders += 1;
      return () => {
        if (one) one.holders -= 1;
      };
    },
    onChange(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    close: () => watching.unsubscribe(),
  };
}

/** Whether only the time of the last heartbeat changed. */
export function isHeartbeat(before: MachineEntry, after: MachineEntry): boolean {
  if (before.state !== after.state || before.substate !== after.substate) return false;
  if (before.sinceMs !== after.sinceMs) return false;
  const { lastHeartbeatAtMs: _, dueAtMs: __, members, holds, ...others } = before.view;
  return (
    sameTexts(holds, after.view.holds) &&
    sameData(members, after.view.members) &&
    Object.entries(others).every(([key, value]) => after.view[key as keyof typeof others] === value)
  );
}

const sameTexts = (a: readonly string[], b: readonly string[]): boolean =>
  a === b || (a.length === b.length && a.every((text, at) => text === b[at]));

export interface Cell {
  readonly provider: string;
  readonly location: string | null;
  readonly state: MachineState;
  /** Headline word that counts these machines; null: their slots are gone. */
  readonly word: ShareWord | null;
  readonly machines: number;
}

/** Counts machines by provider, location, state and headline word, as they change. */
export function createCells(
  index: Pick<MachineIndex, 'onChange'>,
  entries: Iterable<MachineEntry>,
) {
  const cells = new Map<string, { -readonly [Key in keyof Cell]: Cell[Key] }>();
  const count = ({ view: { provider, location }, state, substate }: MachineEntry, by: number) => {
    const word = shareWord({ state, substate });
    const key = `${provider}\n${location ?? ''}\n${state}\n${word}`;
    const cell = cells.get(key) ?? { provider, location, state, word, machines: 0 };
    cell.machines += by;
    if (cell.machines === 0) cells.delete(key);
    else cells.set(key, cell);
  };
  for (const entry of entries) count(entry, 1);
  index.onChange((_row, before, after) => {
    if (before) count(before, -1);
    if (after) count(after, 1);
  });
  return (): readonly Cell[] => [...cells.values()].map((cell) => ({ ...cell }));
}
