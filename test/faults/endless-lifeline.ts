import type { Lifeline } from '../../src/adapters/bmdb/pg/lifeline.ts';
import type { Clock } from '../../src/adapters/clock/port.ts';
import type { SessionId } from '../../src/domain/ids.ts';

/** In place of `createLifeline`: whatever becomes of the session, nothing is told to stop. */
export function createLifeline(_clock: Clock, _id: SessionId, intervalMs: number): Lifeline {
  return {
    signal: new AbortController().signal,
    deadlineMs: () => Number.POSITIVE_INFINITY,
    remainingMs: () => intervalMs,
    extend: () => undefined,
    expire: () => undefined,
  };
}
