import type { Clock } from '../adapters/clock/port.ts';
import { TimedOut } from '../domain/errors.ts';

/** Works with a signal that aborts after `limitMs` by the given clock. */
export async function withTimeLimit<T>(
  clock: Clock,
  limitMs: number,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const limit = new AbortController();
  const timer = clock.setTimeout(
    () => limit.abort(new TimedOut(`no answer within ${limitMs} ms`)),
    limitMs,
  );
  try {
    return await work(limit.signal);
  } finally {
    clock.clearTimeout(timer);
  }
}
