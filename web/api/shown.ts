import { printable } from '../../src/lib/texts.ts';

/** Control characters, and marks of format and direction. No name that is part of an address contains them. */
const MASKS = /[^\P{Cc}\t\n]|\p{Cf}/gu;

/**
 * Parses an answer of the console. Providers, machines and people wrote much of its text, so characters
 * that hide or reverse text are replaced by their code, such as `\u{202e}`.
 */
export const parseShown = (json: string): unknown =>
  JSON.parse(json, (_key, value: unknown) =>
    typeof value === 'string' ? value.replace(MASKS, printable) : value,
  );
