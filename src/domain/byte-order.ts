/** Compares texts as their UTF-8 bytes, which is the order of their code points. */
export function byBytes(a: string, b: string): number {
  if (a === b) return 0;
  const end = Math.min(a.length, b.length);
  let at = 0;
  while (at < end && a.charCodeAt(at) === b.charCodeAt(at)) at += 1;
  if (at === end) return a.length - b.length;
  return rank(a.charCodeAt(at)) - rank(b.charCodeAt(at));
}

/** Surrogates stand for code points beyond all other units. */
const rank = (unit: number): number => (unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit);

const SURROGATE = /[\ud800-\udfff]/;

/** Sorts many texts in that order: the engine's own, which is faster, wherever it is the same. */
export const sortedByBytes = (texts: readonly string[]): string[] =>
  texts.some((text) => SURROGATE.test(text)) ? texts.toSorted(byBytes) : texts.toSorted();
