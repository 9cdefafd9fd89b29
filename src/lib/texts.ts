/** Longest free text that is kept, in UTF-16 code units. */
export const TEXT_MAX = 2_000;

const CUT = '… (cut)';
// Line breaks and tabs stay: what machines and providers answer may have several lines. U+FFFE and
// U+FFFF are no characters, and a document that has them is not XML.
const CONTROL = /[^\P{Cc}\t\n]|[\ufffe\uffff]/gu;
const LINE_END = /\r\n?/g;

/**
 * A text from outside as any database and any screen can take it: control characters, halves of
 * characters and what is none become U+FFFD, line ends become `\n`, and what is longer than `max` is
 * cut and says so. What went through it once stays as it is.
 */
export function plainText(text: string, max = TEXT_MAX): string {
  // Cut first: nobody reads the rest of a megabyte. A line end may be two, so twice as much is kept.
  const clean = text
    .slice(0, 2 * max + 2)
    .replace(LINE_END, '\n')
    .toWellFormed()
    .replace(CONTROL, '\ufffd');
  if (clean.length <= max) return clean;
  return `${whole(clean.slice(0, max - CUT.length))}${CUT}`;
}

/** The text without the first half of a character that was cut in two. */
const whole = (text: string): string => (text.isWellFormed() ? text : text.slice(0, -1));

/** The same for a text that may be missing. */
export const plainTextOr = <Missing extends null | undefined>(
  text: string | Missing,
): string | Missing => (typeof text === 'string' ? plainText(text) : text);

/** What a screen does not show, or obeys: all that is no line break, tab or visible character. */
const UNSHOWN = /[^\P{C}\t\n]|[\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;

/**
 * A text from outside as a person may read it on a terminal, in a log or before saying yes: what
 * would be invisible, or would command the screen (escape sequences, changes of the direction of
 * writing), is written out as `\u{202e}`. Line ends become `\n`, and stay; what is longer than `max`
 * is cut and says so. What went through it once stays as it is.
 */
export function visibleText(text: string, max = TEXT_MAX): string {
  // Cut first: nobody reads the rest of a megabyte. A line end may be two, so twice as much is kept.
  const clean = text.slice(0, 2 * max + 2).replace(LINE_END, '\n');
  if (clean.length <= max) {
    const whole = clean.replace(UNSHOWN, writtenOut);
    if (whole.length <= max) return whole;
  }
  let shown = '';
  // By characters, so that none is cut in two, whether written out or not.
  for (const character of clean) {
    const more = character.replace(UNSHOWN, writtenOut);
    if (shown.length + more.length > max - CUT.length) break;
    shown += more;
  }
  return `${shown}${CUT}`;
}

const writtenOut = (character: string) => `\\u{${character.codePointAt(0)!.toString(16)}}`;

/**
 * What cannot be seen, or changes what is seen around it: controls, marks of format and direction,
 * halves of characters, private ones, separators other than a space, and letters without ink.
 */
export const UNSEEN =
  /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}\u115f\u1160\u2800\u3164\uffa0]|(?! )\p{Zs}/gu;

/**
 * Texts may hold what some program wrote to a terminal, or somebody to deceive who reads a list or is
 * asked: what cannot be seen is shown, such as `\u{202e}`.
 */
export const printable = (text: string): string =>
  text.replace(UNSEEN, (unseen) => `\\u{${unseen.codePointAt(0)!.toString(16)}}`);

const STEPS = [
  ['d', 86_400],
  ['h', 3_600],
  ['m', 60],
  ['s', 1],
] as const;

/** `42s`, `12m`, `5h`, `3d`: the largest unit that there are two of. */
export function spanText(spanMs: number): string {
  const seconds = Math.max(0, Math.floor(spanMs / 1_000));
  const [unit, size] = STEPS.find(([, each]) => seconds >= 2 * each) ?? ['s', 1];
  return `${Math.floor(seconds / size)}${unit}`;
}
