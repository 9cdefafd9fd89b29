import { z } from 'zod';
import type { Call } from './call.ts';
import { isProviderError, type ProviderError } from '../../domain/errors.ts';
import { asUnknown, isLost } from './errors.ts';
import { placesOf } from './outcome.ts';

/** An entry of a list that is there and cannot be read. */
export interface Unread {
  /** Null: not even that. */
  readonly id: string | null;
  /** Of a device, the reservation under it, if that can be read. */
  readonly reservationId: string | null;
  /** Where it is not as agreed. */
  readonly fault: string;
}
/** The entries of one page. */
export interface Entries<T> {
  readonly items: readonly T[];
  readonly unread: readonly Unread[];
}

/** More entries than this are no page, and no listing in one reply. */
const ENTRIES_MAX = 50_000;
/** Everybody else has a turn after this. */
const SLICE_MS = 5;

/**
 * Reads the entries of one page one by one, in slices: what is wrong with one says nothing of the others.
 * @param namesOf what can be read of an entry that cannot be read whole.
 */
export const entriesOf = <T>(
  schema: z.ZodType<T>,
  namesOf: (entry: unknown) => Pick<Unread, 'id' | 'reservationId'>,
) =>
  z
    .array(z.unknown())
    .max(ENTRIES_MAX)
    .transform(async (raw): Promise<Entries<T>> => {
      const items: T[] = [];
      const unread: Unread[] = [];
      let beganAtMs = performance.now();
      for (const entry of raw) {
        const { success, data, error } = schema.safeParse(entry);
        if (success) items.push(data);
        else unread.push({ ...namesOf(entry), fault: `not as agreed: ${placesOf(error)}` });
        if (performance.now() - beganAtMs < SLICE_MS) continue;
        await new Promise((resolve) => setImmediate(resolve));
        beganAtMs = performance.now();
      }
      return { items, unread };
    });

/** One page, and where in its listing it stands. */
export interface Page<T> extends Entries<T> {
  /** Of all entries of the listing; null: nobody tells. */
  readonly total: number | null;
  /** From 1. */
  readonly number: number;
  readonly isLast: boolean;
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
 * Reads all pages. Pages may shift while they are read, so a walk counts only when it is
 * consistent: one total, no id twice, as many ids as the total; where no total is told, two walks that saw
 * the same ids prove each other. Otherwise it is repeated, the union
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
  let idsBefore: string | null = null;
  for (let walks = 1; walks <= WALKS_MAX; walks++) {
    const walk: Walk<T> = await walkOnce(fetchPage, idsBefore);
    onWalk(walk.consistent);
    idsBefore = walk.allIds;
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

interface Walk<T> extends Entries<T> {
  /** Null: nobody tells, or there are several. */
  readonly total: number | null;
  readonly allIds: string;
  readonly consistent: boolean;
}

async function walkOnce<T extends { readonly id: string }>(
  fetchPage: (page: number) => Promise<Page<T>>,
  idsBefore: string | null,
): Promise<Walk<T>> {
  const items: T[] = [];
  const unread: Unread[] = [];
  const totals = new Set<number | null>();
  for (let number = 1; ; number++) {
    if (number > PAGES_MAX) throw new PageOrderError(`more than ${PAGES_MAX} pages`);
    const page = await fetchPage(number);
    if (page.number !== number) throw new PageOrderError('the page number does not advance');
    items.push(...page.items);
    unread.push(...page.unread);
    totals.add(page.total);
    if (page.isLast) break;
  }
  const total = totals.size === 1 ? [...totals][0]! : null;
  const ids = [...items, ...unread].flatMap(({ id }) => id ?? []);
  const size = items.length + unread.length;
  const allIds = ids.toSorted().join(' ');
  const isWhole = totals.has(null) ? allIds === idsBefore : size === total;
  const consistent = new Set(ids).size === ids.length && isWhole;
  return { items, unread, total, allIds, consistent };
}

/** How a listing is read. */
export interface Reading<T> {
  /** Name of the route, for metrics. */
  readonly endpoint: string;
  readonly fetchPage: (page: number) => Promise<Page<T>>;
  /** An incomplete listing is a failure. */
  readonly insist?: boolean;
}

/** Reads a listing by verified walks. @throws {ProviderError} `permanent`, or `transient`: it has gaps. */
export async function readPages<T extends { readonly id: string }>(
  call: Call,
  { endpoint, fetchPage, insist = false }: Reading<T>,
): Promise<Walked<T>> {
  const onWalk = (consistent: boolean) => call.observer.walk?.(endpoint, consistent);
  const walked = await walkPages(fetchPage, onWalk).catch((error: unknown) => {
    throw error instanceof PageOrderError ? call.error('permanent', error.message) : error;
  });
  if (walked.complete || !insist) return walked;
  throw call.error('transient', `only ${walked.items.length} are certain`);
}

/** A change of which one can see whether it happened. */
export interface Mutation<T> {
  /** Name of the route, for metrics. */
  readonly endpoint: string;
  send(): Promise<T>;
  /** Looks whether the change is there; null when it is not (yet). */
  look(): Promise<{ readonly value: T } | null>;
  /** An error after which it may be there, though nothing was lost. */
  readonly looksAfter?: (refusal: ProviderError) => boolean;
  /** Repetitions after an unknown outcome; without limit but the operation's budget if absent. */
  readonly repeatsMax?: number;
  /** Milliseconds before each look after a lost answer; one look, after the usual back-off, if absent. */
  readonly waitsMs?: readonly number[];
}

/**
 * Sends a change: after an attempt whose outcome is not known it looks, and sends again what it does not
 * see, unless that must not be.
 * @throws {ProviderError} `outcome: 'unknown'` if any attempt may have worked and nothing was seen of it.
 */
export async function mutate<T>(call: Call, mutation: Mutation<T>): Promise<T> {
  const { repeatsMax = Infinity, looksAfter = () => false, waitsMs = [null] } = mutation;
  let isUnknown = false;
  try {
    for (let repeats = 0; ; repeats++) {
      const outcome = await attempt(mutation);
      if ('value' in outcome) return outcome.value;
      const { error } = outcome;
      const isNowLost = isLost(error);
      isUnknown ||= isNowLost;
      for (const waitMs of isNowLost ? waitsMs : [0]) {
        if (isNowLost) await (waitMs === null ? call.backOff() : call.wait(waitMs));
        const seen = isUnknown || looksAfter(error) ? await mutation.look() : null;
        if (seen) return seen.value;
      }
      if (!isNowLost) throw error;
      if (repeats >= repeatsMax) throw unsettled(call, error);
      call.repeats(mutation.endpoint);
    }
  } catch (error) {
    if (!isUnknown) throw error;
    if (isProviderError(error)) throw asUnknown(error);
    throw call.error('aborted', 'not sent again', { outcome: 'unknown', cause: error });
  }
}

/** The error when nobody can tell whether a change happened. */
export const unsettled = (call: Call, cause: ProviderError): ProviderError =>
  call.error('transient', 'it may have been accepted', { outcome: 'unknown', cause });

async function attempt<T>({ send }: Mutation<T>): Promise<{ value: T } | { error: ProviderError }> {
  try {
    return { value: await send() };
  } catch (error) {
    if (!isProviderError(error) || error.kind === 'aborted') throw error;
    return { error };
  }
}
