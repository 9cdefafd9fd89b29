/** Pieces that many statements are made of. */

/**
 * A timestamp as whole epoch milliseconds, type `float8`. Microseconds are exact in a double, so
 * nothing is lost before the rounding down; twice as fast as the arithmetic of `numeric`.
 */
export const ms = (column: string): string =>
  `floor(round(date_part('epoch', ${column}) * 1e6) / 1000)`;

/** Work counts only while its session (`s`) lives. */
export const LIVE = 's.session_deadline > now()';

/** No machine has this id; every other one comes after it. */
export const FIRST = '00000000-0000-0000-0000-000000000000';

/** Constants of this program, for `IN (…)`; they are plain words. */
export const texts = (words: readonly string[]): string =>
  words.map((word) => `'${word}'`).join(', ');
