/**
 * The one way of a text into a shell script: as one word that means nothing but itself.
 * @throws {RangeError} it holds a NUL, which no shell can carry.
 */
export function shellWord(text: string): string {
  if (text.includes('\0')) throw new RangeError('a shell word cannot hold a NUL');
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
