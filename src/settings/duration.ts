/** A time span. Every duration of the configuration is a whole number of milliseconds. */
export type Milliseconds = number;

/** Timers take at most 2^31 - 1 ms (24.8 days); a longer one would fire at once. */
export const LONGEST_DURATION_MS = 2 ** 31 - 1;

const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1000],
  ['ms', 1],
] as const;
const FORM = /^(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m(?!s))?(?:(\d+)s)?(?:(\d+)ms)?$/;

/**
 * Parses `250ms`, `2s`, `15m`, `1h30m`: units from large to small, each once. Null: malformed, or
 * longer than `longestMs`, which may exceed a timer's limit.
 */
export function parseDuration(
  text: string,
  longestMs: Milliseconds = LONGEST_DURATION_MS,
): Milliseconds | null {
  const parts = FORM.exec(text);
  if (text === '' || parts === null) return null;
  const totalMs = UNITS.reduce((sum, [, unitMs], i) => sum + Number(parts[i + 1] ?? 0) * unitMs, 0);
  return totalMs <= longestMs ? totalMs : null;
}

/** The shortest text that `parseDuration` reads back as the same number. */
export function formatDuration(durationMs: Milliseconds): string {
  let rest = durationMs;
  const parts = UNITS.map(([unit, unitMs]) => {
    const count = Math.floor(rest / unitMs);
    rest -= count * unitMs;
    return count === 0 ? '' : `${count}${unit}`;
  });
  return parts.join('') || '0s';
}
