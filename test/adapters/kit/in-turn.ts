import type { TurnOptions, Turns } from '../../../src/adapters/kit/turns.ts';

/** Runs a task in a turn of its own. */
export async function inTurn<T>(
  turns: Pick<Turns, 'take'>,
  task: () => Promise<T>,
  options: TurnOptions,
): Promise<T> {
  const end = await turns.take(options);
  try {
    return await task();
  } finally {
    end();
  }
}
