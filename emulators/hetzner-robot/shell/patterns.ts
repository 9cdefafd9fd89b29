/** The expression for a shell's pattern. `isPath`: a star does not go over a slash. */
export function patternOf(pattern: string, { isPath = false, isWhole = true } = {}): RegExp {
  let source = '';
  for (let at = 0; at < pattern.length; at++) {
    const character = pattern[at]!;
    const set = character === '[' ? /^\[([!^]?)(\]?[^\]]*)\]/.exec(pattern.slice(at)) : null;
    if (character === '*') source += isPath ? '[^/]*' : '[^]*';
    else if (character === '?') source += isPath ? '[^/]' : '[^]';
    else if (set) {
      source += `[${set[1] === '' ? '' : '^'}${set[2]!.replaceAll('\\', '\\\\')}]`;
      at += set[0].length - 1;
    } else if (character === '\\') source += escaped(pattern[++at] ?? '\\');
    else source += escaped(character);
  }
  return new RegExp(isWhole ? `^(?:${source})$` : source);
}

const escaped = (text: string): string => text.replaceAll(/[\\^$.*+?()[\]{}|/]/g, '\\$&');

/** So that nothing in it means anything in a pattern. */
export const literalPattern = (text: string): string => text.replaceAll(/[\\*?[\]]/g, '\\$&');
export const isPattern = (text: string): boolean => /(^|[^\\])[*?[]/.test(text);

/** Removes the shortest or longest part that fits from the start or the end. */
export function withoutPart(value: string, pattern: string, operator: string): string {
  const fits = patternOf(pattern);
  const isLongest = operator.length === 2;
  const lengths = Array.from({ length: value.length + 1 }, (_, n) => n);
  for (const length of isLongest ? lengths.toReversed() : lengths) {
    const isFront = operator.startsWith('#');
    const part = isFront ? value.slice(0, length) : value.slice(value.length - length);
    if (!fits.test(part)) continue;
    return isFront ? value.slice(length) : value.slice(0, value.length - length);
  }
  return value;
}
