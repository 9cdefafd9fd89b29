/** How long a pool waits for objects that are not ready, and how often it looks. */
export const WAIT = {
  firstMs: 1_000,
  factor: 1.5,
  /** Each wait is its length times something between 1 and this. */
  jitter: 2.5,
  longestMs: 300_000,
  checksMax: 30,
  totalMs: 30 * 60_000,
} as const;

/**
 * Before the next look at objects that are not ready, milliseconds.
 * @param looks how many there were since the wait began; the first wait follows the first look.
 * @param chance uniform in [0, 1).
 */
export function waitMs(looks: number, chance: number): number {
  const { firstMs, factor, jitter, longestMs } = WAIT;
  const plain = firstMs * factor ** Math.max(0, looks - 1);
  return Math.min(longestMs, plain * (1 + chance * (jitter - 1)));
}

const RETRY_FIRST_MS = 5_000;
const RETRY_LONGEST_MS = 300_000;
/** A pool whose desired state changed is tried again after this, although it failed lately. */
export const HURRY_MS = 1_000;

/**
 * Before a pool is tried again that failed so many times in a row, milliseconds.
 * @param retryInMs until then the balancer wants to be left alone; null: it did not say so.
 */
export const retryMs = (failures: number, retryInMs: number | null): number =>
  Math.max(
    retryInMs ?? 0,
    Math.min(RETRY_LONGEST_MS, RETRY_FIRST_MS * 2 ** Math.min(20, Math.max(0, failures - 1))),
  );

const RESYNC_MS = 300_000;
/** A settled pool is looked at after this all the same, milliseconds. @param chance in [0, 1). */
export const resyncMs = (chance: number): number =>
  Math.round(RESYNC_MS * (RESYNC_SHORTEST + 0.4 * chance));
const RESYNC_SHORTEST = 0.8;
/**
 * A look may tell from memory what objects hold until everything was read anew so long ago: no longer
 * than the shortest wait of a settled pool, so that its look there is never one of those.
 */
export const RECALL_MS = RESYNC_MS * RESYNC_SHORTEST;
