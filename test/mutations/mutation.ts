/**
 * One deliberate mistake in the product, which the tests named must notice. Chosen by hand, where a
 * reader of the code would ask: would anybody see it if this were otherwise?
 */
export interface Mutation {
  /** Short and stable, unique over all lists: what reports and `--only` call it. */
  readonly id: string;
  /** The source file that is changed, from the project's root. */
  readonly file: string;
  /** A piece of that file that occurs in it exactly once. */
  readonly find: string;
  /** What takes its place. */
  readonly replace: string;
  /** The test files (or folders) that have to turn red, from the project's root. */
  readonly tests: readonly string[];
  /** Only the tests whose names match this expression of vitest's `-t`; all of `tests` otherwise. */
  readonly named?: string;
  /** Why nobody can notice: behaviour is the same. Such a mutation is listed, and not counted. */
  readonly equivalent?: string;
}

/** A mistake as id, piece, what takes its place, and why nobody can notice where that is so. */
type Mistake = readonly [id: string, find: string, replace: string, equivalent?: string];

/** Mistakes in one file that the same tests have to notice. */
export const mistakesIn = (
  file: string,
  tests: readonly string[],
  mistakes: readonly Mistake[],
): Mutation[] =>
  mistakes.map(([id, find, replace, equivalent]) => ({
    ...{ id, file, find, replace, tests },
    ...(equivalent === undefined ? {} : { equivalent }),
  }));

type NamedMistake = readonly [id: string, find: string, replace: string, named?: string];
type Where = Pick<Mutation, 'file' | 'tests'> & { readonly named?: string };

/** The same, each with its own `named`, or that of all of them. */
export const mistakesNamed = (where: Where, ...mistakes: readonly NamedMistake[]): Mutation[] =>
  mistakes.map(([id, find, replace, named]) => ({
    ...{ id, find, replace, ...where },
    ...(named === undefined ? {} : { named }),
  }));
