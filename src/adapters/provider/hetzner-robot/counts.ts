import { z } from 'zod';
import { explain, isProviderError } from '../../../domain/errors.ts';
import type { Json, ProviderRecord } from '../../../domain/provisioning/records.ts';
import type { Clock } from '../../clock/port.ts';
import type { Api } from '../../driver-kit/api.ts';
import {
  type Budget,
  createBudget,
  spentStarts,
  type SpentStarts,
} from '../../driver-kit/call-classes.ts';
import type { Log } from '../../log/port.ts';
import type { Records, RecordOptions } from '../port.ts';
import { budgetsOf, CLASS_NAMES, RESET_CLASS } from './api.ts';
import type { CallCounts } from './client.ts';

const KEY_PREFIX = 'calls/';
/** All but resets may be forgotten for so long when this process is killed, and so many of a path. */
const LAG_MS = 30_000;
const UNWRITTEN_MAX = 5;
/** What others have sent is known so well, of all but resets. */
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
 * How many requests each daemon has sent in the last hour, in a record of its own: the vendor's counts
 * survive our restarts, so ours have to. Resets are written down one by one, since there are few of them.
 * Of as many daemons as live beside us, those that wrote last are taken for alive, and keep to their own
 * share; what the others have sent is counted as ours from then on. A daemon that was killed counts as
 * alive for a while, so the sum of all records is held to the budget of all besides.
 */
export function createCounts(deps: {
  /** Of this process. */
  readonly id: string;
  readonly instanceSetId: string;
  readonly records: Records;
  readonly clock: Clock;
  readonly log: Log;
  /** Requests in an hour that are other than documented. */
  readonly limits?: Readonly<Record<string, number>>;
  daemons(): number;
}): CallCounts {
  const { id, instanceSetId, records, clock, log, limits = {}, daemons } = deps;
  const budgets = new Map<string, Budget>(
    [...budgetsOf(limits)].map(([name, terms]) => [name, createBudget([terms], { clock })]),
  );
  const unwritten = new Map<string, number>();
  let known: { readonly rows: readonly Counted[]; readonly atMs: number } | null = null;
  const key = KEY_PREFIX + id;
  let version: string | null = null;
  let writtenAtMs = -Infinity;
  let inherited: Readonly<Record<string, SpentStarts>> = {};
  let writing: Promise<void> = Promise.resolve();

  /** Of all daemons but this one. */
  async function readOthers(options: RecordOptions): Promise<readonly Counted[]> {
    const rows = (await records.all(options)).flatMap((row) => {
      if (!row.key.startsWith(KEY_PREFIX) || row.key === key) return [];
      const read = countsValue.safeParse(row.value).data;
      return read?.set === instanceSetId ? [{ row, read }] : [];
    });
    known = { rows, atMs: clock.monotonic() };
    return rows;
  }

  async function readGone(options: RecordOptions): Promise<readonly Counted[]> {
    const rows = await readOthers(options);
    return rows.toSorted((a, b) => b.read.atMs - a.read.atMs).slice(Math.max(0, daemons() - 1));
  }

  async function write(api: Pick<Api, 'spent'>, options: RecordOptions): Promise<void> {
    const spent = Object.fromEntries(CLASS_NAMES.map((name) => [name, api.spent(name)]));
    const value: Json = { set: instanceSetId, atMs: clock.now(), spent };
    try {
      version =
        version === null
          ? await records.make(key, value, options)
          : await records.replace(key, value, version, options);
    } catch (error) {
      // Another daemon took us for gone, and took our counts over.
      if (version === null || !isProviderError(error, 'conflict')) throw error;
      version = await records.make(key, value, options);
    }
    writtenAtMs = clock.now();
    unwritten.clear();
  }

  /** One after the other: each names the version that the one before has written. */
  function inTurn(work: () => Promise<void>): Promise<void> {
    const turn = writing.then(work);
    writing = turn.catch(() => undefined);
    return turn;
  }

  return {
    takeOver: (api, signal) =>
      inTurn(async () => {
        const gone = await readGone({ signal });
        if (gone.length === 0) return;
        const spent = Object.fromEntries(
          CLASS_NAMES.map((name) => [
            name,
            merged([inherited[name] ?? [], ...gone.map(({ read }) => read.spent[name] ?? [])]),
          ]),
        );
        for (const name of CLASS_NAMES) api.recall(name, spent[name] ?? []);
        try {
          await write(api, { signal });
        } catch (error) {
          // Their records stay, and are counted as those of daemons beside us.
          for (const name of CLASS_NAMES) api.recall(name, inherited[name] ?? []);
          throw error;
        }
        inherited = spent;
        for (const { row } of gone) {
          await records.drop(row.key, row.version, { signal }).catch(unlessChanged);
        }
        known = null;
      }),
    async waitMs(api, className, { signal, urgent = false }) {
      const budget = budgets.get(className);
      if (!budget) return 0;
      const isFresh = known !== null && clock.monotonic() - known.atMs < KNOWN_MS;
      const isKnown = isFresh && className !== RESET_CLASS;
      const others = isKnown ? known!.rows : await readOthers({ signal });
      const spent = others.flatMap(({ read }) => read.spent[className] ?? []);
      budget.recall([...spent, ...api.spent(className)]);
      return budget.waitMs(urgent);
    },
    async note(api, className, signal) {
      const count = (unwritten.get(className) ?? 0) + 1;
      unwritten.set(className, count);
      const isDue = count >= UNWRITTEN_MAX || clock.now() - writtenAtMs >= LAG_MS;
      if (className !== RESET_CLASS && !isDue) return;
      try {
        await inTurn(() => write(api, { signal }));
      } catch (error) {
        if (className === RESET_CLASS || !isProviderError(error)) throw error;
        log.debug({ cause: explain(error) }, 'the counts of requests were not written down');
      }
    },
  };
}

/** It lives, after all: its next record is a new one. */
function unlessChanged(error: unknown): void {
  if (!isProviderError(error, 'conflict')) throw error;
}

/** Several lives of daemons, as one; no more entries than are kept of one. */
function merged(all: readonly SpentStarts[]): SpentStarts {
  const counts = new Map<number, number>();
  for (const [atMs, starts] of all.flat()) counts.set(atMs, (counts.get(atMs) ?? 0) + starts);
  return [...counts].toSorted(([a], [b]) => a - b).slice(-ENTRIES_MAX);
}
const ENTRIES_MAX = 200;
