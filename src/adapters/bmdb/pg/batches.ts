import { createBatcher, type Batcher, type Outcome } from '../../../lib/batcher.ts';
import { FleetError, Locked } from '../../../domain/errors.ts';
import type { LiveSession } from './live.ts';
import { repeated } from './repeat.ts';

/** How items of one kind are written together. */
interface Batching<Item, Result> {
  /** Items with the same key are written one after the other. */
  readonly keyOf: (item: Item) => string;
  /** Concurrent batches (2). */
  readonly concurrency?: number;
  /** Writes a batch and returns outcomes in its order. */
  readonly run: Run<Item, Result>;
}

type Run<Item, Result> = (batch: readonly Item[]) => Promise<readonly Outcome<Result>[]>;

/** Maximum items in one batch. */
const SIZE_MAX = 200;
/** Concurrent batches of one kind. */
const CONCURRENCY = 2;

/** Collects all items submitted in one turn of the event loop. */
const endOfTurn = () => new Promise<void>((resolve) => setImmediate(resolve));

/** Items submitted while `concurrency` batches run go together into the next batch. */
export const createBatches = <Item, Result>({
  keyOf,
  run,
  concurrency = CONCURRENCY,
}: Batching<Item, Result>): Batcher<Item, Result> =>
  createBatcher({ collect: endOfTurn, sizeMax: SIZE_MAX, concurrency, keyOf, run: eachAlone(run) });

/**
 * Like `createBatches`, for items that must survive a locked row. Such items are retried for a
 * while, one by one and beside the batches, so that they do not delay the batches.
 */
export function createPatientBatches<Item, Result>(
  session: LiveSession,
  batching: Batching<Item, Result>,
): Pick<Batcher<Item, Result>, 'submit'> {
  const batches = createBatches(batching);
  const stragglers = createBatcher<Item, Result>({
    collect: endOfTurn,
    sizeMax: 1,
    concurrency: CONCURRENCY,
    keyOf: batching.keyOf,
    run: batching.run,
  });
  return {
    submit: async (item) => {
      try {
        return await batches.submit(item);
      } catch (error) {
        if (!isLocked(error)) throw error;
        return patiently(session, () => stragglers.submit(item));
      }
    },
  };
}

const isLocked = (error: unknown) => error instanceof Locked;

/** Retries for a while, as long as another transaction holds a lock on a row. */
export const patiently = <T>(session: LiveSession, run: () => Promise<T>): Promise<T> =>
  repeated({ ...session, isPassing: isLocked }, run);

/**
 * Repeats the items that a lost answer left undone. An error concerns only these items: the others
 * were written and must not be sent again.
 */
export async function onceMore<Item, Result>(
  items: readonly Item[],
  run: (items: readonly Item[]) => Promise<Outcome<Result>[]>,
): Promise<Outcome<Result>[]> {
  if (items.length === 0) return [];
  try {
    return await run(items);
  } catch (error) {
    return items.map(() => ({ error }));
  }
}

/** Creates the value of each key on first use, and returns the same value afterwards. */
export function oneForEach<Key, Made>(create: (key: Key) => Made): (key: Key) => Made {
  const made = new Map<Key, Made>();
  return (key) => {
    const found = made.get(key) ?? create(key);
    made.set(key, found);
    return found;
  };
}

/** Number of locked items tried one by one; then the remaining items are given up as locked. */
const LOCKED_MAX = 4;

/**
 * If one item of a batch is faulty or locked, the others must not fail with it: each item then runs
 * alone. Errors of the database rather than of an item fail all items.
 */
const eachAlone =
  <Item, Result>(run: Run<Item, Result>): Run<Item, Result> =>
  async (batch) => {
    try {
      return await run(batch);
    } catch (error) {
      if (batch.length === 1 || !isOfItems(error)) throw error;
    }
    return oneByOne(batch, run);
  };

const isOfItems = (error: unknown) => error instanceof Locked || !(error instanceof FleetError);

async function oneByOne<Item, Result>(
  batch: readonly Item[],
  run: Run<Item, Result>,
): Promise<Outcome<Result>[]> {
  const outcomes: Outcome<Result>[] = [];
  let locked = 0;
  for (const item of batch) {
    try {
      outcomes.push(...(await run([item])));
    } catch (error) {
      outcomes.push({ error });
      if (error instanceof Locked) locked += 1;
      if (isOfItems(error) && locked < LOCKED_MAX) continue;
      return outcomes.concat(batch.slice(outcomes.length).map(() => ({ error })));
    }
  }
  return outcomes;
}
