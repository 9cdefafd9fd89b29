import { format, inspect } from 'node:util';
import { test } from 'vitest';

/** Maximum number of complaints in a failure, because one mistake often breaks every row. */
const COMPLAINTS_MAX = 20;

/**
 * Like vitest's `test.each`, but the rows are one test, because a table is one promise. Each row is
 * checked. The test fails with a complaint per failed row: the title with the row's values, and the
 * expected and actual value. Hooks run once for the whole table.
 */
export const testRows = ((rows: readonly unknown[]) =>
  (title: string, check: (...row: never[]) => unknown): void => {
    if (rows.length === 0) throw new Error(`${title}: the table has no rows`);
    test(`${title} (${rows.length} rows)`, () => checkRows(rows, title, check));
  }) as unknown as typeof test.each;

/** Checks all rows. @throws the first failed row's error, with complaints about all failed rows. */
export async function checkRows(
  rows: readonly unknown[],
  title: string,
  check: (...row: never[]) => unknown,
): Promise<void> {
  const failures: RowFailure[] = [];
  for (const row of rows) {
    const values = Array.isArray(row) ? row : [row];
    try {
      await check(...(values as never[]));
    } catch (error) {
      failures.push({ name: nameOf(title, values), error });
    }
  }
  if (failures.length > 0) throw errorOf(failures);
}

interface RowFailure {
  readonly name: string;
  readonly error: unknown;
}

/** The title with the values in place of `%s` or `$name`, as `test.each` formats it. */
function nameOf(title: string, values: readonly unknown[]): string {
  const places = title.match(/%[sdifjoO]/g)?.length ?? 0;
  const [row] = values;
  return format(title, ...values.slice(0, places)).replaceAll(/\$([\w.]+)/g, (_, path: string) =>
    textOf(path.split('.').reduce<unknown>((at, key) => (at as Record<string, unknown>)[key], row)),
  );
}

const textOf = (value: unknown) =>
  typeof value === 'string' ? value : inspect(value, { depth: 6, breakLength: 100 });

/** The first row's error, which keeps its diff and line, with the complaints of all rows. */
function errorOf(failures: readonly RowFailure[]): Error {
  const complaints = failures.slice(0, COMPLAINTS_MAX).map(({ name, error }) => {
    const { message, actual, expected } = error as Error & { actual: unknown; expected: unknown };
    const isCompared = expected !== undefined || actual !== undefined;
    const difference = `\n  expected ${textOf(expected)}\n  found ${textOf(actual)}`;
    return `${name}: ${message}${isCompared ? difference : ''}`;
  });
  const more = failures.length - complaints.length;
  const first = failures[0]!.error as Error;
  first.message = [...complaints, ...(more > 0 ? [`and ${more} more rows`] : [])].join('\n');
  return first;
}
