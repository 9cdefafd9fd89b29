const FIRST_MS = 500;
const FACTOR = 1.5;
const SPREAD = 0.5;
const MAX_MS = 60_000;

/**
 * How long to wait after the `failures`-th failure in a row (from 1), milliseconds: 500 ms growing
 * by half each time, ±50 %, never over a minute. `random` is uniform in [0, 1).
 */
export function failureDelayMs(failures: number, random: number): number {
  const base = Math.min(FIRST_MS * FACTOR ** (failures - 1), MAX_MS);
  return Math.min(spread(base, SPREAD, random), MAX_MS);
}

/** The value, moved by up to ± its share, so that agents do not move in step. */
export const spread = (value: number, share: number, random: number): number =>
  value * (1 + share * (2 * random - 1));
