import type { SessionDeadline } from '../../src/adapters/bmdb/pg/session-deadline.ts';
import type { Clock } from '../../src/adapters/clock/port.ts';
import type { SessionId } from '../../src/domain/ids.ts';

/** Replaces `createSessionDeadline`: nothing is told to stop, whatever happens to the session. */
export function createSessionDeadline(
  _clock: Clock,
  _id: SessionId,
  intervalMs: number,
): SessionDeadline {
  return {
    signal: new AbortController().signal,
    deadlineMs: () => Number.POSITIVE_INFINITY,
    remainingMs: () => intervalMs,
    extend: () => undefined,
    expire: () => undefined,
  };
}
