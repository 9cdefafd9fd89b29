import { metricsTo, type Metrics } from '../../adapters/metrics/port.ts';
import { TimedOut } from '../../domain/errors.ts';
import type { Operator } from './operator.ts';

/** A person is told of a wait after this, and again after each such time. */
const TOLD_AFTER_MS = 4_000;

/** What the client is doing, as far as its metrics tell. */
export interface Watch {
  readonly metrics: Metrics;
  /** Why an answer is waited for. */
  why(): string;
}

export function createWatch(baseUrl: string): Watch {
  let inFlight = 0;
  let waiting = 0;
  let last: string | null = null;
  return {
    metrics: metricsTo(({ name, labels, value }) => {
      if (name === 'equinix_api_latency') last = labels['status_code']!;
      if (name === 'equinix_api_waiting') waiting = value;
      if (name === 'equinix_api_in_flight') inFlight = value;
    }),
    why() {
      const before =
        last === null || last.startsWith('2') ? '' : `; the last answer was ${answerOf(last)}`;
      if (inFlight > 0) return `${baseUrl} has not answered yet${before}`;
      if (waiting > 0) return `requests are spaced out (--api-rate)${before}`;
      return `a request is going to be repeated${before}`;
    },
  };
}

const answerOf = (status: string): string => {
  if (status === '429') return '429, too many requests';
  return /^\d+$/.test(status) ? status : `none (${status})`;
};

/**
 * Runs what a person waits for: says before long that it waits, and why, and gives up in the end.
 * @throws {TimedOut} it did not end within the limit.
 */
export async function withPatience<T>(
  limitMs: number,
  { clock, signal, note }: Operator,
  { why }: Watch,
  task: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const late = new AbortController();
  const beganMs = clock.monotonic();
  const seconds = () => Math.round((clock.monotonic() - beganMs) / 1_000);
  let reason = '';
  const tell = () => {
    note(`waiting for ${seconds()} s: ${why()}`);
    telling = clock.setTimeout(tell, TOLD_AFTER_MS);
  };
  let telling = clock.setTimeout(tell, TOLD_AFTER_MS);
  const limit = clock.setTimeout(() => {
    reason = why();
    late.abort();
  }, limitMs);
  try {
    return await task(AbortSignal.any([signal, late.signal]));
  } catch (cause) {
    if (!late.signal.aborted || signal.aborted) throw cause;
    const message = `gave up after ${limitMs / 1_000} s: ${reason}; --timeout waits longer`;
    throw new TimedOut(message, { cause });
  } finally {
    clock.clearTimeout(telling);
    clock.clearTimeout(limit);
  }
}
