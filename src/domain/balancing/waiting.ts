/** How long a pool waits for objects that are not ready, and how often it looks. */
export const WAIT = {
  firstMs: 1_000,
  factor: 1.5,
  /** Each wait is its length times a random factor between 1 and this. */
  jitter: 2.5,
  longestMs: 300_000,
  checksMax: 30,
  totalMs: 30 * 60_000,
} as const;

/**
 * Wait before the next look at objects that are not ready, milliseconds.
 * @param looks number of looks since the wait began; the first wait follows the first look.
 * @param chance uniform in [0, 1).
 */
export function waitMs(looks: number, chance: number): number {
  const { firstMs, factor, jitter, longestMs } = WAIT;
  const plain = firstMs * factor ** Math.max(0, looks - 1);
  return Math.min(longestMs, plain * (1 + chance * (jitter - 1)));
}

const RETRY_FIRST_MS = 5_000;
const RETRY_LONGEST_MS = 300_000;
/** A pool whose desired state changed is retried after this, even after a recent failure. */
export const HURRY_MS = 1_000;

/**
 * Wait before the next attempt for a pool after this many failures in a row, milliseconds.
 * @param retryInMs pause that the balancer requested; null: none.
 */
export const retryMs = (failures: number, retryInMs: number | null): number =>
  Math.max(
    retryInMs ?? 0,
    Math.min(RETRY_LONGEST_MS, RETRY_FIRST_MS * 2 ** Math.min(20, Math.max(0, failures - 1))),
  );

const RESYNC_MS = 300_000;
/** Wait before the next look at a settled pool, milliseconds. @param chance in [0, 1). */
export const resyncMs = (chance: number): number =>
  Math.round(RESYNC_MS * (RESYNC_SHORTEST + 0.4 * chance));
const RESYNC_SHORTEST = 0.8;
/**
 * A look may reuse the remembered content of objects until the last full read is this old. This is
 * the shortest wait of a settled pool, so that its regular look always reads everything.
 */
export const RECALL_MS = RESYNC_MS * RESYNC_SHORTEST;
