import type { Outcome } from '../../../../domain/batcher.ts';
import { FleetError, Locked } from '../../../../domain/errors.ts';

type Run<Item, Answer> = (batch: readonly Item[]) => Promise<readonly Outcome<Answer>[]>;

/** So many items are waited for one by one: then the others, too, are given up as locked. */
const LOCKED_MAX = 4;

/**
 * When something is wrong with one item of a batch, or somebody has locked what it needs, the others
 * shall not pay for it: each is then handled alone. Errors that have to do with the database and not
 * with the items are everybody's.
 */
export const eachAlone =
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
