/** How waits grow after failures; see `nextBackoffSeconds`. */
export interface BackoffDescriptor {
  readonly initialMs: number;
  readonly exponent: number;
  readonly maximumMs: number;
}

export const AGENT_START_BACKOFF: BackoffDescriptor = {
  initialMs: 5 * 60_000,
  exponent: 1.2,
  maximumMs: 4 * 3_600_000,
};
export const RECOVERY_BACKOFF: BackoffDescriptor = {
  initialMs: 60_000,
  exponent: 1.2,
  maximumMs: 3_600_000,
};

const SECOND_NS = 1e9;
/** Longest wait. It keeps intervals in nanoseconds below 2^53, where doubles count exactly. */
const MAXIMUM_MS = 90 * 24 * 3_600_000;

/**
 * Computes the next wait after a failure, in whole seconds, without jitter.
 *
 * Counts in nanoseconds, because in seconds `ceil(90 × 1.1)` would give 100 instead of 99. Rounds
 * the initial wait up and the maximum down to whole seconds, at least 1 s. A maximum below the
 * initial wait (0: unset) counts as the initial wait. An exponent of at most 1 means that the wait
 * never grows.
 *
 * @param previousSeconds the last result for this machine and process; null: there was none.
 * @throws {RangeError} the initial wait or the maximum is above 90 days.
 */
export function nextBackoffSeconds(
  descriptor: BackoffDescriptor,
  previousSeconds: number | null,
): number {
  const longestMs = Math.max(descriptor.initialMs, descriptor.maximumMs);
  if (longestMs > MAXIMUM_MS) {
    throw new RangeError(`a backoff of at most ${longestMs} ms exceeds 90 days`);
  }
  const initial = Math.max(1, Math.ceil(descriptor.initialMs / 1000)) * SECOND_NS;
  const maximum = Math.max(initial, Math.floor(descriptor.maximumMs / 1000) * SECOND_NS);
  const grows = descriptor.exponent > 1;
  if (!grows || previousSeconds === null) return initial / SECOND_NS;
  const last = Math.max(SECOND_NS, Math.trunc(previousSeconds * SECOND_NS));
  const next = Math.trunc(last * descriptor.exponent);
  return Math.ceil(Math.min(next, maximum) / SECOND_NS);
}

/** Maximum random share by which a wait is lengthened, so that many waits do not end together. */
export const BACKOFF_JITTER = 0.1;
