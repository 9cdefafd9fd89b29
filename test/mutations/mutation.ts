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

/**
 * A piece of a file and what changes in it, as `git diff --word-diff` writes it: `[-removed-]` and
 * `{+added+}`. The text around them makes the piece unique in its file.
 */
type Change = string;
type Mistake = Change | { readonly change: Change; readonly equivalent: string };

/**
 * Mutations by place and id. A place is the source file and, behind it, the tests that must notice, as
 * vitest takes them: files or folders, and ` -t ` before an expression for the names of tests.
 */
type List = Record<string, Record<string, Mistake>>;

const HUNK = /\[-(.*?)-\]|\{\+(.*?)\+\}/gs;
const withHunks = (change: Change, take: (removed: string, added: string) => string) =>
  change.replaceAll(HUNK, (_hunk, removed = '', added = '') => take(removed, added));

/** Reads a list. */
export const mutationsOf = (list: List): readonly Mutation[] =>
  Object.entries(list).flatMap(([place, mistakes]) => {
    const [paths, named] = place.split(' -t ');
    const [file, ...tests] = paths!.split(' ');
    return Object.entries(mistakes).map(([id, mistake]) => {
      const { change, ...rest } = typeof mistake === 'string' ? { change: mistake } : mistake;
      return {
        ...{ id, file: file!, tests, ...(named === undefined ? {} : { named }), ...rest },
        find: withHunks(change, (removed) => removed),
        replace: withHunks(change, (_removed, added) => added),
      };
    });
  });
