import { styleText } from 'node:util';
import { UsageError } from '../../domain/errors.ts';
import { SHARE_WORDS, TONE_OF, type Tone } from '../../domain/headline.ts';
import { columnLines, plainCell, jsonLine } from '../layout.ts';
import type { Color, Format } from './flags.ts';
import { spawn } from 'node:child_process';
import { once } from 'node:events';

/** Writes answers in the wanted format. */

export interface Column<Row> {
  readonly name: string;
  readonly of: (row: Row) => string;
  /** Shown only with `-o wide`, or by name. */
  readonly isWide?: true;
}

/** A list of things of one kind. */
export interface List<Row extends object> {
  readonly rows: readonly Row[];
  readonly columns: readonly Column<Row>[];
  readonly nameOf: (row: Row) => string;
  /** The answer of the API. */
  readonly document: object;
}

export interface ListLook {
  readonly format: Format;
  readonly columns?: readonly string[] | undefined;
  readonly headers: boolean;
}

/** The result of a command. */
export interface CommandOutput {
  /** For people; a function gets the width in columns. */
  readonly text: string | ((width: number) => string);
  /** For programs; absent: there is only the text. */
  readonly document?: object;
  /** The lines of `-o ndjson`; absent: the document is the only line. */
  readonly rows?: readonly object[];
  /** The lines of `-o name`. */
  readonly names?: readonly string[];
  /** 0 when absent. */
  readonly exitCode?: number;
}

/** The result of a command that prints a list. */
export const toldList = <Row extends object>(list: List<Row>, look: ListLook): CommandOutput => ({
  document: list.document,
  rows: list.rows,
  names: list.rows.map(list.nameOf),
  text: () => tableText(list, look),
});

/** Format, width and colours of the output. */
export interface Look {
  readonly format: Format;
  readonly width: number;
  readonly paint: Paint;
}

/** Formats a result. */
export async function writtenText(
  { text, document, rows, names }: CommandOutput,
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

/** @throws {UsageError} no column has this name. */
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
      throw new UsageError(`no column is named ${name}; give one of ${all.join(', ')}`);
    }
    return { name, of: (row) => cellOf((row as Readonly<Record<string, unknown>>)[name]) };
  });
}

const cellOf = (value: unknown): string => {
  if (value === null || value === undefined) return '-';
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
};

/** Colours what a person should see first. */
export type Paint = (text: string) => string;

const MARKS: readonly (readonly [RegExp, 'red' | 'yellow'])[] = [
  [/\bQuarantined · \S+|\bFROZEN\b|\bREFUSED\b/g, 'red'],
  [sharesOf('bad'), 'red'],
  [/\bRunning · silent\b|\bprovider \S+ CANNOT BE LISTED/g, 'red'],
  [/\bRecovering · \S+|\bRunning · late\b/g, 'yellow'],
  [sharesOf('warn'), 'yellow'],
];

/** `10 silent`, as in a headline. */
function sharesOf(tone: Tone): RegExp {
  const words = SHARE_WORDS.filter((word) => TONE_OF[word] === tone);
  return new RegExp(`\\b\\d+ (?:${words.join('|')})\\b`, 'g');
}

export function painting(color: Color, stream: NodeJS.WriteStream = process.stdout): Paint {
  if (color === 'never') return (text) => text;
  // By default the terminal, NO_COLOR and FORCE_COLOR decide.
  const how = color === 'always' ? { validateStream: false } : { stream };
  return (text) =>
    MARKS.reduce(
      (marked, [pattern, style]) =>
        marked.replace(pattern, (found) => styleText(style, found, how)),
      text,
    );
}

/** Writes to standard output. A long text for people goes through their pager. */
export async function writeText(text: string, format: Format): Promise<void> {
  if (text === '') return;
  if (isData(format) || format === 'name') process.stdout.write(`${text}\n`);
  else await sayPaged(`${text}\n`);
}

/** Default options of `less`: quit if the text fits, keep colours, keep the screen. */
const LESS = 'FRX';

/**
 * Writes a text to standard output. If the text does not fit on the terminal, it goes through `PAGER` or
 * `less`, if there is a pager.
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

/** @returns false if the pager does not exist. */
async function paged(text: string, env: NodeJS.ProcessEnv): Promise<boolean> {
  const pager = spawn(env['PAGER'] ?? 'less', {
    shell: true,
    stdio: ['pipe', 'inherit', 'inherit'],
    env: { LESS, ...env },
  });
  // A person may quit the pager early.
  pager.stdin.on('error', () => undefined);
  pager.stdin.end(text);
  const [code] = (await once(pager, 'exit')) as [number | null];
  return code !== NOT_FOUND;
}

/** Exit status of a shell if the command does not exist. */
const NOT_FOUND = 127;
