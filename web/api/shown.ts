import { printable } from '../../src/lib/texts.ts';

/** Controls, and marks of format and direction. No name that an address has to repeat has any. */
const MASKS = /[^\P{Cc}\t\n]|\p{Cf}/gu;

/**
 * What the console tells, as the page may show it. Providers, machines and people wrote much of it:
 * what would hide or turn round the text beside it is written out, such as `\u{202e}`.
 */
export const parseShown = (json: string): unknown =>
  JSON.parse(json, (_key, value: unknown) =>
    typeof value === 'string' ? value.replace(MASKS, printable) : value,
  );
