import { z } from 'zod';
import type { Call } from './call.ts';
import { isProviderError, type ProviderError } from '../../domain/errors.ts';
import { asUnknown, isLost } from './errors.ts';
import { placesOf } from './outcome.ts';

/** An existing but unreadable entry of a list. */
export interface Unread {
  /** Null if even the id is unreadable. */
  readonly id: string | null;
  /** Reservation of a device, if readable. */
  readonly reservationId: string | null;
  /** Where the entry is unexpected. */
  readonly fault: string;
}
/** The entries of one page. */
export interface Entries<T> {
  readonly items: readonly T[];
  readonly unread: readonly Unread[];
}

/** Maximum entries of a page, or of a listing in one reply. */
const ENTRIES_MAX = 50_000;
/** Time until other work gets a turn. */
const SLICE_MS = 5;

/**
 * Reads a page's entries one by one, in slices: a fault in one does not affect the others.
 * @param namesOf readable parts of an unreadable entry.
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
        else unread.push({ ...namesOf(entry), fault: `malformed: ${placesOf(error)}` });
        if (performance.now() - beganAtMs < SLICE_MS) continue;
        await new Promise((resolve) => setImmediate(resolve));
        beganAtMs = performance.now();
      }
      return { items, unread };
    });

/** One page, and its position in the listing. */
export interface ListingPage<T> extends Entries<T> {
  /** Number of all entries; null if not given. */
  readonly total: number | null;
  /** From 1. */
  readonly number: number;
  readonly isLast: boolean;
}
/**
 * Result of a listing. Without `complete`, absence proves nothing. Even a complete listing may lack
 * an item that was created while another was deleted, or that shifting pages hid twice. Ask for
 * such an item by id. Entries in `unread` exist; one without a readable id may be anything.
 */
export interface Walked<T> extends Entries<T> {
  readonly complete: boolean;
}

const WALKS_MAX = 3;
const PAGES_MAX = 10_000;

/** Page numbers do not advance as expected, or never end. */
export class PageOrderError extends Error {}

/**
 * Reads all pages. Pages may shift meanwhile, so a walk counts only if it is consistent: one total,
 * no repeated id, as many ids as the total. Without a total, two walks with the same ids prove each
 * other. Otherwise the walk is repeated and the ids are united. The union counts if its size is a
 * total on which two walks agree. The size cannot distinguish an item deleted meanwhile from one
 * never seen.
 * @param onWalk called for each walk with its consistency.
 * @throws {PageOrderError}
 */
export async function walkPages<T extends { readonly id: string }>(
  fetchPage: (page: number) => Promise<ListingPage<T>>,
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

  /** An entry that was read once counts as readable. */
  function all(): Entries<T> {
    const unread = [...unreadUnion.values()].filter(({ id }) => id !== null && !union.has(id));
    return { items: [...union.values()], unread };
  }
}

interface Walk<T> extends Entries<T> {
  /** Null if there is no total, or several. */
  readonly total: number | null;
  readonly allIds: string;
  readonly consistent: boolean;
}

async function walkOnce<T extends { readonly id: string }>(
  fetchPage: (page: number) => Promise<ListingPage<T>>,
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

/** How to read a listing. */
export interface Reading<T> {
  /** Route name for metrics. */
  readonly endpoint: string;
  readonly fetchPage: (page: number) => Promise<ListingPage<T>>;
  /** Fail on an incomplete listing. */
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

/** A change whose effect can be checked. */
export interface Mutation<T> {
  /** Route name for metrics. */
  readonly endpoint: string;
  send(): Promise<T>;
  /** Checks whether the change is visible; null if not (yet). */
  look(): Promise<{ readonly value: T } | null>;
  /** Errors after which the change may exist although no answer was lost. */
  readonly looksAfter?: (refusal: ProviderError) => boolean;
  /** Maximum repetitions after an unknown outcome; default: only the operation's time limit. */
  readonly repeatsMax?: number;
  /**
   * Delays before the checks after a lost answer, milliseconds; default: one check after the usual
   * back-off.
   */
  readonly waitsMs?: readonly number[];
}

/**
 * Sends a change. After an attempt with an unknown outcome, checks it, and sends it again if it is
 * not visible and may be repeated.
 * @throws {ProviderError} `outcome: 'unknown'` if any attempt may have succeeded without a visible
 *   effect.
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

/** Error if nobody can tell whether a change succeeded. */
export const unsettled = (call: Call, cause: ProviderError): ProviderError =>
  call.error('transient', 'the request may have been accepted', { outcome: 'unknown', cause });

async function attempt<T>({ send }: Mutation<T>): Promise<{ value: T } | { error: ProviderError }> {
  try {
    return { value: await send() };
  } catch (error) {
    if (!isProviderError(error) || error.kind === 'aborted') throw error;
    return { error };
  }
}
