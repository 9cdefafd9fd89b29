import { getBorderCharacters, table } from 'table';
import { printable, UNSEEN } from '../lib/texts.ts';

export { printable };

/** Columns side by side, without lines around them. */
export const toTable = (lines: readonly (readonly string[])[]): string =>
  table(
    lines.map((line) => line.map(printable)),
    {
      border: getBorderCharacters('void'),
      columnDefault: { paddingLeft: 0, paddingRight: 2 },
      drawHorizontalLine: () => false,
    },
  )
    .split('\n')
    .map((line) => line.trimEnd())
    .join('\n')
    .trimEnd();

/** The same for several lines. */
export const printableLines = (text: string): string => text.split('\n').map(printable).join('\n');

/** JSON in one line, which means the same, and in which everything can be seen. */
export const jsonLine = (value: unknown): string =>
  JSON.stringify(value).replace(UNSEEN, (unseen) =>
    unseen
      .split('')
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
      .join(''),
  );
