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

/**
 * What cannot be seen, or changes what is seen around it: controls, marks of format and direction,
 * halves of characters, private ones, separators other than a space, and letters without ink.
 */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}\u115f\u1160\u2800\u3164\uffa0]|(?! )\p{Zs}/gu;

/**
 * Texts may hold what some program wrote to a terminal, or somebody to deceive who reads a list or is
 * asked: what cannot be seen is shown, such as `\u{202e}`.
 */
export const printable = (text: string): string =>
  text.replace(UNSEEN, (unseen) => `\\u{${unseen.codePointAt(0)!.toString(16)}}`);

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
