import { getBorderCharacters, table, type TableUserConfig } from 'table';
import { printable, spanText, UNSEEN } from '../lib/texts.ts';

export { printable };

/** Columns side by side, without lines around them. */
export const toTable = (lines: readonly (readonly string[])[]): string =>
  laidOut(
    lines.map((line) => line.map(printable)),
    { columnDefault: { paddingLeft: 0, paddingRight: 2 } },
  );

/** Makes several lines printable. */
export const printableLines = (text: string): string => text.split('\n').map(printable).join('\n');

/** JSON in one line. Invisible characters are escaped. */
export const jsonLine = (value: unknown): string =>
  JSON.stringify(value).replace(UNSEEN, (unseen) =>
    unseen
      .split('')
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
      .join(''),
  );

const NARROWEST = 60;

/** Width of the output: `COLUMNS`, else the terminal. Without either, nothing is wrapped. */
export function outputWidth(
  { isTTY, columns }: Partial<NodeJS.WriteStream>,
  env: NodeJS.ProcessEnv = process.env,
): number {
  const told = Number(env['COLUMNS'] ?? Number.NaN);
  const width = Number.isInteger(told) && told > 0 ? told : isTTY === true ? columns : undefined;
  return width === undefined ? Number.POSITIVE_INFINITY : Math.max(NARROWEST, width);
}

/** A name and a value. A null value is not shown. */
export type Fact = readonly [name: string, value: string | null];

/** Formats a value; null stays null. */
export const told = <Value>(value: Value | null, of: (value: Value) => string): string | null =>
  value === null ? null : of(value);

/** Formats names with their values beside them, wrapped. */
export function factLines(facts: readonly Fact[], width: number): string {
  const lines = facts.flatMap(([name, value]) => (value === null ? [] : [[name, value]]));
  if (lines.length === 0) return '';
  const first = Math.max(...lines.map(([name]) => name!.length)) + 2;
  return wrapped(lines, [first, Math.max(20, width - first)]);
}

/** Indented columns. No cells give no lines. */
export const indented = (lines: readonly (readonly string[])[], indent = '  '): string[] =>
  lines.length === 0
    ? []
    : toTable(lines)
        .split('\n')
        .map((line) => indent + line);

/** Wraps a text at a width. */
export const paragraph = (text: string, width: number): string =>
  isOneLine(text, width) ? plainCell(text).trimEnd() : wrapped([[text]], [width]);

const isOneLine = (text: string, width: number): boolean => text.length <= width && isEven(text);

/** Each character is one column wide, as in most texts. */
const isEven = (text: string): boolean => /^[ -~·…]*$/.test(text);

/** Columns side by side. Fast, because fleets are large. */
export function columnLines(lines: readonly (readonly string[])[]): string[] {
  if (!lines.every((line) => line.every(isEven))) return toTable(lines).split('\n');
  const widths: number[] = [];
  for (const line of lines) {
    line.forEach((cell, at) => (widths[at] = Math.max(widths[at] ?? 0, cell.length + 2)));
  }
  return lines.map((line) =>
    line
      .map((cell, at) => cell.padEnd(widths[at]!))
      .join('')
      .trimEnd(),
  );
}

/** A note below a line, wrapped and indented by four. */
export function noteLines(text: string, width: number): string {
  const room = Math.max(20, width - INDENT);
  if (isOneLine(text, room)) return `${' '.repeat(INDENT)}${text}`.trimEnd();
  return wrapped([['', text]], [INDENT, room]);
}
const INDENT = 4;

const wrapped = (lines: readonly string[][], widths: readonly number[]): string =>
  laidOut(
    lines.map((line) => line.map(plainCell)),
    {
      columnDefault: { paddingLeft: 0, paddingRight: 0, wrapWord: true },
      columns: widths.map((width) => (Number.isFinite(width) ? { width } : {})),
    },
  );

/** A table without lines around it, and without spaces at the ends of its lines. */
const laidOut = (lines: readonly string[][], look: TableUserConfig): string =>
  table(lines, { border: getBorderCharacters('void'), drawHorizontalLine: () => false, ...look })
    .split('\n')
    .map((line) => line.trimEnd())
    .join('\n')
    .trimEnd();

/** Text from machines, providers and people: only its line breaks have an effect. */
export const plainCell = (text: string): string =>
  text
    .split('\n')
    .map((line) => printable(line.replaceAll('\t', ' ')))
    .join('\n');

/** The latest time that a JavaScript date can hold. */
const LAST_MS = 8.64e15;

/** `2025-11-01 12:00:00Z`. The database can hold later times than JavaScript. */
export const timeText = (atMs: number): string =>
  Math.abs(atMs) <= LAST_MS
    ? `${new Date(atMs).toISOString().slice(0, 19).replace('T', ' ')}Z`
    : 'never';

/** `2025-11-01 12:00:00Z (12m ago)`, or `(in 5m)`. */
export function whenText(atMs: number, nowMs: number): string {
  if (Math.abs(atMs) > LAST_MS) return 'never';
  const ahead = atMs - nowMs;
  return `${timeText(atMs)} (${ahead > 0 ? `in ${spanText(ahead)}` : `${spanText(-ahead)} ago`})`;
}

/** When something ends, if it ends by itself. */
export const untilText = (untilMs: number | null, nowMs: number): string =>
  untilMs === null ? 'until it is removed' : `until ${whenText(untilMs, nowMs)}`;
