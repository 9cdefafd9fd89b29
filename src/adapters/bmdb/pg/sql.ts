/** SQL fragments that many statements share. */

/**
 * A timestamp as whole epoch milliseconds, type `float8`. Microseconds are exact in a double, so
 * rounding down is the only loss; twice as fast as `numeric` arithmetic.
 */
export const ms = (column: string): string =>
  `floor(round(date_part('epoch', ${column}) * 1e6) / 1000)`;

/** Work counts only while its session (`s`) is alive. */
export const LIVE = 's.session_deadline > now()';

/** No machine has this id; all others sort after it. */
export const FIRST = '00000000-0000-0000-0000-000000000000';

/** Constants of this program for `IN (…)`; plain words that need no escaping. */
export const texts = (words: readonly string[]): string =>
  words.map((word) => `'${word}'`).join(', ');
