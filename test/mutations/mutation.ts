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

const HUNK = /\[-(.*?)-\]|\{\+(.*?)\+\}/gs;
const withHunks = (change: string, take: (removed: string, added: string) => string) =>
  change.replaceAll(HUNK, (_hunk, removed = '', added = '') => take(removed, added));

/** Of a source file, `\n` is a line's end and `\_` a blank where one could not be seen. */
const ESCAPES: Readonly<Record<string, string>> = { n: '\n', _: ' ' };
const MISTAKE = /^ {2}([\w-]+)(?: \((.*?)\))?: *(.*)$/;

/**
 * Reads a list: a line for each place and, indented, the mistakes in it, each with its id.
 *
 *     src/lib/a.ts test/lib/a.test.ts -t adds
 *       sum-is-a-difference: return a [-+-]{+-+} b;
 *       sum-of-nothing-is-something (nobody adds nothing): a = [-0-]{+1+}
 *
 * A place is the source file and, behind it, the tests that must notice, as vitest takes them: files or
 * folders, and ` -t ` before an expression for the names of tests. Behind the id is a piece of the file and
 * what changes in it, as `git diff --word-diff` writes it: `[-removed-]` and `{+added+}`. The text around
 * them makes the piece unique in its file; a long one has a line of its own. In parentheses: why
 * behaviour is the same.
 */
export function mutationsOf({ raw: [text = ''] }: TemplateStringsArray): readonly Mutation[] {
  const lines = text
    .replaceAll(/:\n {4}/g, ': ')
    .split('\n')
    .filter(Boolean);
  let place: Pick<Mutation, 'file' | 'tests' | 'named'> = { file: '', tests: [] };
  return lines.flatMap((line): Mutation[] => {
    if (!line.startsWith(' ')) {
      const [paths = '', named] = line.split(' -t ');
      const [file = '', ...tests] = paths.split(' ');
      place = { file, tests, ...(named !== undefined && { named }) };
      return [];
    }
    const [, id = '', equivalent, change] = MISTAKE.exec(line) ?? [];
    if (change === undefined) throw new Error(`this is no mutation: ${line}`);
    const plain = change.replaceAll(/\\(.)/g, (_, char: string) => ESCAPES[char] ?? char);
    return [
      {
        ...{ id, ...place, ...(equivalent !== undefined && { equivalent }) },
        find: withHunks(plain, (removed) => removed),
        replace: withHunks(plain, (_removed, added) => added),
      },
    ];
  });
}
