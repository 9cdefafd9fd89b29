import { createBatcher, type Batcher, type Outcome } from '../../../lib/batcher.ts';
import { FleetError, Locked } from '../../../domain/errors.ts';
import type { LiveSession } from './live.ts';
import { repeated } from './repeat.ts';

/** How items of one kind are written together. */
interface Batching<Item, Answer> {
  /** Items of one key are written one after the other. */
  readonly keyOf: (item: Item) => string;
  /** Batches at once (2). */
  readonly concurrency?: number;
  /** Writes a batch; answers in its order. */
  readonly run: Run<Item, Answer>;
}

type Run<Item, Answer> = (batch: readonly Item[]) => Promise<readonly Outcome<Answer>[]>;

/** Items in one batch. */
const SIZE_MAX = 200;
/** Batches of one kind at once. */
const CONCURRENCY = 2;

/** Whatever is asked for in one turn of the event loop goes together. */
const endOfTurn = () => new Promise<void>((resolve) => setImmediate(resolve));

/** What is asked for while as many batches as may be are under way goes together in the next one. */
export const createBatches = <Item, Answer>({
  keyOf,
  run,
  concurrency = CONCURRENCY,
}: Batching<Item, Answer>): Batcher<Item, Answer> =>
  createBatcher({ collect: endOfTurn, sizeMax: SIZE_MAX, concurrency, keyOf, run: eachAlone(run) });

/**
 * The same for what must not be lost because somebody has locked a row: such items are tried again
 * for a while, one by one and beside the batches, which they would hold up.
 */
export function createPatientBatches<Item, Answer>(
  session: LiveSession,
  batching: Batching<Item, Answer>,
): Pick<Batcher<Item, Answer>, 'submit'> {
  const batches = createBatches(batching);
  const stragglers = createBatcher<Item, Answer>({
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

/** Tries again for a while, as long as somebody has locked a row. */
export const patiently = <T>(session: LiveSession, run: () => Promise<T>): Promise<T> =>
  repeated({ ...session, isPassing: isLocked }, run);

/**
 * Writes once more what a lost answer left undone. An error is that of these items alone: the others
 * were written, and must not be sent again.
 */
export async function onceMore<Item, Answer>(
  items: readonly Item[],
  run: (items: readonly Item[]) => Promise<Outcome<Answer>[]>,
): Promise<Outcome<Answer>[]> {
  if (items.length === 0) return [];
  try {
    return await run(items);
  } catch (error) {
    return items.map(() => ({ error }));
  }
}

/** What is made for each key when it is first asked for. */
export function oneForEach<Key, Made>(create: (key: Key) => Made): (key: Key) => Made {
  const made = new Map<Key, Made>();
  return (key) => {
    const found = made.get(key) ?? create(key);
    made.set(key, found);
    return found;
  };
}

/** So many items are waited for one by one: then the others, too, are given up as locked. */
const LOCKED_MAX = 4;

/**
 * When something is wrong with one item of a batch, or somebody has locked what it needs, the others
 * shall not pay for it: each is then handled alone. Errors that have to do with the database and not
 * with the items are everybody's.
 */
const eachAlone =
  <Item, Answer>(run: Run<Item, Answer>): Run<Item, Answer> =>
  async (batch) => {
    try {
      return await run(batch);
    } catch (error) {
      if (batch.length === 1 || !isOfItems(error)) throw error;
    }
    return oneByOne(batch, run);
  };

const isOfItems = (error: unknown) => error instanceof Locked || !(error instanceof FleetError);

async function oneByOne<Item, Answer>(
  batch: readonly Item[],
  run: Run<Item, Answer>,
): Promise<Outcome<Answer>[]> {
  const outcomes: Outcome<Answer>[] = [];
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
