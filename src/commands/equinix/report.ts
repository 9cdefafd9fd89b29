import { explain } from '../../domain/errors.ts';
import { toTable } from '../text-table.ts';
import type { Operator } from './operator.ts';

/** What became of one thing that a command was about. */
export interface Item {
  readonly id: string;
  readonly name: string;
  /** `planned` in a dry run; `left`: an interrupt came first. */
  readonly result: 'done' | 'planned' | 'failed' | 'left';
  /** What was done with it, in order. */
  readonly steps: readonly string[];
  readonly error?: string;
}

/** What a command found or did. */
export interface Outcome {
  readonly text: string;
  readonly json: unknown;
  /** Everything that was asked for was done. */
  readonly isGood: boolean;
}

/** A thing, and a place to note what was done with it. */
export interface Subject {
  readonly id: string;
  readonly name: string;
}
export type Work<T> = (thing: T, step: (done: string) => void) => Promise<void>;

/** Does the work for one thing; a failure is its result. */
export async function carryOut<T extends Subject>(
  thing: T,
  work: Work<T>,
  { note, signal }: Operator,
): Promise<Item> {
  const { id, name } = thing;
  const steps: string[] = [];
  const step = (done: string) => {
    steps.push(done);
    note(`${name}: ${done}`);
  };
  if (signal.aborted) return { id, name, result: 'left', steps };
  try {
    await work(thing, step);
    return { id, name, result: 'done', steps };
  } catch (error) {
    note(`${name}: ${explain(error)}`);
    return { id, name, result: 'failed', steps, error: explain(error) };
  }
}

/** One after the other. */
export async function carryOutAll<T extends Subject>(
  things: readonly T[],
  work: Work<T>,
  operator: Operator,
): Promise<Item[]> {
  const items: Item[] = [];
  for (const thing of things) items.push(await carryOut(thing, work, operator));
  return items;
}

export const planned = ({ id, name }: Subject): Item => ({
  id,
  name,
  result: 'planned',
  steps: [],
});

/** Entries of a list that cannot be read are in nobody's way, and are not touched. */
export const unreadText = (
  what: 'device' | 'reservation',
  unread: readonly { readonly id: string | null }[],
): string[] => unread.map(({ id }) => `${what} ${id} cannot be read, so it stays`);

/** The end of a command that was about several things. */
export function outcomeOf(
  items: readonly Item[],
  more: { readonly machines?: readonly string[] } & object = {},
): Outcome {
  const rows = items.map(({ id, name, result, steps, error }) => [
    ...[name, id, result, error ?? (steps.join(', ') || '-')],
  ]);
  return {
    text:
      items.length === 0 ? 'there is nothing to do' : toTable([['name', 'id', '', ''], ...rows]),
    json: { ...more, items },
    isGood:
      !more.machines?.length &&
      items.every(({ result }) => result === 'done' || result === 'planned'),
  };
}

/** Nothing was done, since it was not agreed to. */
export const declined = (more: object = {}): Outcome => ({
  text: 'nothing was changed',
  json: { ...more, declined: true, items: [] },
  isGood: false,
});
