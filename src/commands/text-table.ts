import { getBorderCharacters, table } from 'table';

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

/** Texts may hold what some program wrote to a terminal; ours is not for it to control. */
export const printable = (text: string): string => text.replace(/\p{Cc}/gu, '\u{fffd}');
