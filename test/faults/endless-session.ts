import type { SessionDeadline } from '../../src/adapters/bmdb/pg/session-deadline.ts';
import type { Clock } from '../../src/adapters/clock/port.ts';
import type { SessionId } from '../../src/domain/ids.ts';

/** In place of `createSessionDeadline`: whatever becomes of the session, nothing is told to stop. */
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
