/** Longest stored free text, in UTF-16 code units. */
export const TEXT_MAX = 2_000;

const CUT = '… (cut)';
// Line breaks and tabs stay, because texts of machines and providers may have several lines. U+FFFE
// and U+FFFF are no characters, and are illegal in XML.
const CONTROL = /[^\P{Cc}\t\n]|[\ufffe\uffff]/gu;
const LINE_END = /\r\n?/g;

/**
 * Makes an outside text safe for any database and screen. Control characters, half characters and
 * non-characters become U+FFFD, and line ends become `\n`. Text beyond `max` is cut with a note.
 * Idempotent.
 */
export function plainText(text: string, max = TEXT_MAX): string {
  // Cuts first, because nobody reads the rest of a megabyte. A line end may be two units, so twice
  // as much is kept.
  const clean = text
    .slice(0, 2 * max + 2)
    .replace(LINE_END, '\n')
    .toWellFormed()
    .replace(CONTROL, '\ufffd');
  if (clean.length <= max) return clean;
  return `${whole(clean.slice(0, max - CUT.length))}${CUT}`;
}

/** Removes a trailing half of a character. */
const whole = (text: string): string => (text.isWellFormed() ? text : text.slice(0, -1));

/** The same for a text that may be missing. */
export const plainTextOr = <Missing extends null | undefined>(
  text: string | Missing,
): string | Missing => (typeof text === 'string' ? plainText(text) : text);

/** Invisible or screen-controlling characters: all except line breaks, tabs and visible ones. */
const UNSHOWN = /[^\P{C}\t\n]|[\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;

/**
 * Makes an outside text safe to read on a terminal, in a log or before a confirmation. Invisible or
 * screen-controlling characters, such as escape sequences, are written as `\u{202e}`. Line ends
 * become `\n`; text beyond `max` is cut with a note. Idempotent.
 */
export function visibleText(text: string, max = TEXT_MAX): string {
  // Cuts first, because nobody reads the rest of a megabyte. A line end may be two units, so twice
  // as much is kept.
  const clean = text.slice(0, 2 * max + 2).replace(LINE_END, '\n');
  if (clean.length <= max) {
    const whole = clean.replace(UNSHOWN, writtenOut);
    if (whole.length <= max) return whole;
  }
  let shown = '';
  // By characters, so that none is cut in two, written out or not.
  for (const character of clean) {
    const more = character.replace(UNSHOWN, writtenOut);
    if (shown.length + more.length > max - CUT.length) break;
    shown += more;
  }
  return `${shown}${CUT}`;
}

const writtenOut = (character: string) => `\\u{${character.codePointAt(0)!.toString(16)}}`;

/**
 * Invisible characters, and those that change others: controls, format and direction marks, half
 * and private characters, separators other than a space, and letters without ink.
 */
export const UNSEEN =
  /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}\u115f\u1160\u2800\u3164\uffa0]|(?! )\p{Zs}/gu;

/**
 * Writes invisible characters as `\u{202e}`. A text may contain terminal controls, or try to
 * deceive the reader of a list or a question.
 */
export const printable = (text: string): string =>
  text.replace(UNSEEN, (unseen) => `\\u{${unseen.codePointAt(0)!.toString(16)}}`);

const STEPS = [
  ['d', 86_400],
  ['h', 3_600],
  ['m', 60],
  ['s', 1],
] as const;

/** `from 2025-11-01T12:00:00.000Z ` while that is ahead; else nothing. */
export const fromText = (fromMs: number | null | undefined, nowMs: number): string =>
  (fromMs ?? nowMs) > nowMs ? `from ${new Date(fromMs!).toISOString()} ` : '';

/** `42s`, `12m`, `5h`, `3d`: the largest unit with at least two. */
export function spanText(spanMs: number): string {
  const seconds = Math.max(0, Math.floor(spanMs / 1_000));
  const [unit, size] = STEPS.find(([, each]) => seconds >= 2 * each) ?? ['s', 1];
  return `${Math.floor(seconds / size)}${unit}`;
}
