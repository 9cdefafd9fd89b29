import { styleText } from 'node:util';
import { UsageError } from '../../domain/errors.ts';
import { SHARE_WORDS, TONE_OF, type Tone } from '../../domain/headline.ts';
import { columnLines, plainCell, jsonLine } from '../layout.ts';
import type { Color, Format } from './flags.ts';
import { spawn } from 'node:child_process';
import { once } from 'node:events';

/** How answers are written: the same through either door. */

export interface Column<Row> {
  readonly name: string;
  readonly of: (row: Row) => string;
  /** Only where `wide` is asked for, or the column itself. */
  readonly isWide?: true;
}

/** Things of one kind, and everything that is told with them. */
export interface List<Row extends object> {
  readonly rows: readonly Row[];
  readonly columns: readonly Column<Row>[];
  readonly nameOf: (row: Row) => string;
  /** As the API has it. */
  readonly document: object;
}

export interface ListLook {
  readonly format: Format;
  readonly columns?: readonly string[] | undefined;
  readonly headers: boolean;
}

/** What a command has to say at its end. */
export interface Told {
  /** For people, of so many columns. */
  readonly text: string | ((width: number) => string);
  /** All of it, for programs; absent: there is only the text. */
  readonly document?: object;
  /** A line each where lines of JSON are wanted; absent: the document is the one line. */
  readonly rows?: readonly object[];
  /** For `-o name`. */
  readonly names?: readonly string[];
  /** 0 when absent. */
  readonly exitCode?: number;
}

/** A list as it is told. */
export const toldList = <Row extends object>(list: List<Row>, look: ListLook): Told => ({
  document: list.document,
  rows: list.rows,
  names: list.rows.map(list.nameOf),
  text: () => tableText(list, look),
});

/** How a text is written. */
export interface Look {
  readonly format: Format;
  readonly width: number;
  readonly paint: Paint;
}

/** What is told, in the form that is wanted. */
export async function writtenText(
  { text, document, rows, names }: Told,
  { format, width, paint }: Look,
): Promise<string> {
  if (format === 'name' && names) return names.map(plainCell).join('\n');
  if (isData(format) && document) {
    if (format === 'ndjson' && rows) return rows.map(jsonLine).join('\n');
    if (format !== 'yaml') return jsonLine(document);
    const { stringify } = await import('yaml');
    return stringify(document, { lineWidth: 0 }).trimEnd();
  }
  const written = typeof text === 'string' ? text : text(width);
  return isData(format) || format === 'name' ? written : paint(written);
}

export const isData = (format: Format): boolean => ['json', 'ndjson', 'yaml'].includes(format);

export function tableText<Row extends object>(list: List<Row>, look: ListLook): string {
  const columns = chosenColumns(list, look);
  const head = look.headers ? [columns.map(({ name }) => name)] : [];
  const cells = list.rows.map((row) => columns.map(({ of }) => of(row)));
  return columnLines([...head, ...cells]).join('\n');
}

/** @throws {UsageError} there is no such column. */
export function chosenColumns<Row extends object>(
  { columns, rows }: Pick<List<Row>, 'columns' | 'rows'>,
  { columns: names, format }: ListLook,
): readonly Column<Row>[] {
  if (names === undefined) return columns.filter(({ isWide }) => !isWide || format === 'wide');
  const fields = Object.keys(rows[0] ?? {});
  return names.map((name) => {
    const known = columns.find((each) => each.name === name);
    if (known) return known;
    if (rows.length > 0 && !fields.includes(name)) {
      const all = [...new Set([...columns.map((each) => each.name), ...fields])];
      throw new UsageError(`no column is named ${name}; there is ${all.join(', ')}`);
    }
    return { name, of: (row) => cellOf((row as Readonly<Record<string, unknown>>)[name]) };
  });
}

const cellOf = (value: unknown): string => {
  if (value === null || value === undefined) return '-';
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
};

/** Marks what a person should see first. */
export type Paint = (text: string) => string;

const MARKS: readonly (readonly [RegExp, 'red' | 'yellow'])[] = [
  [/\bQuarantined · \S+|\bFROZEN\b|\bREFUSED\b|\bNOT FILED\b|\bMISTAKEN\b/g, 'red'],
  [sharesOf('bad'), 'red'],
  [/\bRunning · silent\b|\bprovider \S+ CANNOT BE LISTED/g, 'red'],
  [/\bRecovering · \S+|\bRunning · late\b/g, 'yellow'],
  [sharesOf('warn'), 'yellow'],
];

/** `10 silent`, as a headline tells it. */
function sharesOf(tone: Tone): RegExp {
  const words = SHARE_WORDS.filter((word) => TONE_OF[word] === tone);
  return new RegExp(`\\b\\d+ (?:${words.join('|')})\\b`, 'g');
}

export function painting(color: Color, stream: NodeJS.WriteStream = process.stdout): Paint {
  if (color === 'never') return (text) => text;
  // Where nothing is forced, the terminal and NO_COLOR, FORCE_COLOR decide.
  const how = color === 'always' ? { validateStream: false } : { stream };
  return (text) =>
    MARKS.reduce(
      (marked, [pattern, style]) =>
        marked.replace(pattern, (found) => styleText(style, found, how)),
      text,
    );
}

/** To the standard output; what people read, through their pager where it is long. */
export async function writeText(text: string, format: Format): Promise<void> {
  if (text === '') return;
  if (isData(format) || format === 'name') process.stdout.write(`${text}\n`);
  else await sayPaged(`${text}\n`);
}

/** What `less` is to do unless `LESS` says otherwise: end at the end, keep the screen. */
const LESS = 'FRX';

/**
 * Writes a text to the standard output; on a terminal that it does not fit on, through `PAGER`, else
 * `less`. Where there is no pager it is just written.
 */
export async function sayPaged(
  text: string,
  output: NodeJS.WriteStream = process.stdout,
  env: NodeJS.ProcessEnv = process.env,
): Promise<void> {
  const fits = text.split('\n').length < (output.rows ?? Number.POSITIVE_INFINITY);
  if (output.isTTY !== true || fits || env['PAGER'] === '') {
    output.write(text);
    return;
  }
  if (!(await paged(text, env))) output.write(text);
}

/** @returns false: there is no such pager, or it could not be started. */
async function paged(text: string, env: NodeJS.ProcessEnv): Promise<boolean> {
  const pager = spawn(env['PAGER'] ?? 'less', {
    shell: true,
    stdio: ['pipe', 'inherit', 'inherit'],
    env: { LESS, ...env },
  });
  // A person may leave the pager before the end.
  pager.stdin.on('error', () => undefined);
  pager.stdin.end(text);
  const [code] = (await once(pager, 'exit')) as [number | null];
  return code !== NOT_FOUND;
}

/** What a shell ends with where there is no such command. */
const NOT_FOUND = 127;
