import { z } from 'zod';
import { explain, isProviderError } from '../../../domain/errors.ts';
import type { Json, ProviderRecord } from '../../../domain/provisioning/records.ts';
import type { Api } from '../../driver-kit/api.ts';
import { createBudget, spentStarts } from '../../driver-kit/call-classes.ts';
import type { DriverContext, RecordOptions } from '../port.ts';
import { budgetsOf, CLASS_NAMES, HOUR_MS, RESET_CLASS } from './api.ts';

const KEY_PREFIX = 'calls/';
/**
 * After a kill, the counts of the last 30 s may be lost, and up to this many requests of a path;
 * but no resets.
 */
const LAG_MS = 30_000;
const UNWRITTEN_MAX = 5;
/** Maximum age of the other daemons' counts; resets are always read again. */
const KNOWN_MS = 10_000;

const countsValue = z.object({
  set: z.string(),
  atMs: z.number(),
  spent: z.record(z.string(), spentStarts),
});

/** The record of a daemon. */
interface Counted {
  readonly row: ProviderRecord;
  readonly read: z.output<typeof countsValue>;
}

/**
 * Counts each daemon's requests of the last hour in its own record: the vendor's counts survive our
 * restarts, so ours must, too. Each reset is written at once, because resets are scarce. The sum of
 * all records, of live and dead daemons, is held to the budget; each daemon's `Api` keeps to its
 * share.
 * @param limits hourly limits that differ from the documented ones.
 */
export function createCounts(
  limits: Readonly<Record<string, number>>,
  { spent }: Pick<Api, 'spent'>,
  { instanceSetId, records, clock, log, random }: DriverContext,
) {
  const budgets = new Map(
    [...budgetsOf(limits)].map(([name, terms]) => [name, createBudget([terms], { clock })]),
  );
  const unwritten = new Map<string, number>();
  const key = KEY_PREFIX + random.uuid();
  let known: { readonly rows: readonly Counted[]; readonly atMs: number } | null = null;
  let version: string | null = null;
  /** A write whose answer was lost may have succeeded: then the version has changed. */
  let isStale = false;
  let writtenAtMs = -Infinity;
  let writing: Promise<void> = Promise.resolve();

  /** Counts of all other daemons. */
  async function readOthers(options: RecordOptions): Promise<readonly Counted[]> {
    const rows = (await records.all(options)).flatMap((row) => {
      if (!row.key.startsWith(KEY_PREFIX) || row.key === key) return [];
      const read = countsValue.safeParse(row.value).data;
      return read?.set === instanceSetId ? [{ row, read }] : [];
    });
    known = { rows, atMs: clock.monotonic() };
    return rows;
  }

  async function write(options: RecordOptions): Promise<void> {
    const counts = Object.fromEntries(CLASS_NAMES.map((name) => [name, spent(name)]));
    const value: Json = { set: instanceSetId, atMs: clock.now(), spent: counts };
    if (isStale) {
      const rows = await records.all(options);
      version = rows.find((row) => row.key === key)?.version ?? null;
    }
    isStale = true;
    const replaced =
      version === null ? null : records.replace(key, value, version, options).catch(nullIfChanged);
    version = (await replaced) ?? (await records.make(key, value, options));
    isStale = false;
    writtenAtMs = clock.now();
    unwritten.clear();
    for (const { row, read } of known?.rows ?? []) {
      if (clock.now() - read.atMs < HOUR_MS) continue;
      // A failure does not affect our own record; another write drops the old one.
      await records.drop(row.key, row.version, options).catch((error: unknown) => {
        if (!isProviderError(error)) throw error;
        log.debug({ cause: explain(error) }, 'old request counts were not deleted');
      });
    }
  }

  return {
    /**
     * Milliseconds until all daemons together, including dead ones, have budget left; 0: now.
     * Ignores this daemon's share.
     */
    async waitMs(
      className: string,
      { urgent = false, ...options }: RecordOptions & { readonly urgent?: boolean },
    ): Promise<number> {
      const budget = budgets.get(className);
      if (!budget) return 0;
      const isFresh = known !== null && clock.monotonic() - known.atMs < KNOWN_MS;
      const isKnown = isFresh && className !== RESET_CLASS;
      const others = isKnown ? known!.rows : await readOthers(options);
      const sent = others.flatMap(({ read }) => read.spent[className] ?? []);
      budget.recall([...sent, ...spent(className)]);
      return budget.waitMs(urgent);
    },
    /** Counts a request that is about to be sent; the `Api` has already counted it. */
    async note(className: string, options: RecordOptions): Promise<void> {
      const count = (unwritten.get(className) ?? 0) + 1;
      unwritten.set(className, count);
      const isDue = count >= UNWRITTEN_MAX || clock.now() - writtenAtMs >= LAG_MS;
      if (className !== RESET_CLASS && !isDue) return;
      // Serialized, because each write names the version written before.
      const written = writing.then(() => write(options));
      writing = written.catch(() => undefined);
      try {
        await written;
      } catch (error) {
        if (className === RESET_CLASS || !isProviderError(error)) throw error;
        log.debug({ cause: explain(error) }, 'the request counts were not stored');
      }
    },
  };
}

/** Another daemon dropped the old record or replaced it. */
function nullIfChanged(error: unknown): null {
  if (isProviderError(error, 'conflict')) return null;
  throw error;
}
