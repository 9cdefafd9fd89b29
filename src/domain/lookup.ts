/**
 * What a table has under a text from outside. A plain `table[text]` also finds what every object
 * inherits, such as `constructor` and `__proto__`.
 */
export const lookup = <T>(table: Readonly<Record<string, T>>, text: string): T | undefined =>
  Object.hasOwn(table, text) ? table[text] : undefined;
