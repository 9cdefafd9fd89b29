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
