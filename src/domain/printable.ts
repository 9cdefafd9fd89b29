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
