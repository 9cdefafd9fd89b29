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
/** Longest wait: keeps every interval in nanoseconds below 2^53, so that doubles count it exactly. */
const MAXIMUM_MS = 90 * 24 * 3_600_000;

/**
 * The next wait after a failure, whole seconds, without jitter.
 *
 * Computed in nanoseconds: in seconds, `ceil(90 × 1.1)` would be 100 instead of 99. The initial
 * wait is rounded up and the maximum down to whole seconds, at least 1 s; a maximum below the
 * initial wait (0: unset) means the initial wait; an exponent of at most 1 means it never grows.
 *
 * @param previousSeconds the last result for this machine and process; null: there was none.
 * @throws {RangeError} an initial wait or a maximum above 90 days.
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

/** Share by which a wait may be lengthened at random, so that many do not end together. */
export const BACKOFF_JITTER = 0.1;
