import type { SessionId } from '../../../src/domain/ids.ts';
import type { SessionLine, SessionsReading } from '../../../src/adapters/bmdb/port.ts';
import { inOrder } from '../../../src/adapters/bmdb/pg/reading/sessions.ts';
import { tell } from './events.ts';
import type { Memory, MemSession } from './tables.ts';

const ENDED_MAX = 200;
const DAY_MS = 86_400_000;

/** Keeps a record of the session for a day. @returns false: no such session. */
export function removeSession(memory: Memory, id: SessionId): boolean {
  const found = memory.sessions.get(id);
  if (!found) return false;
  memory.ended.push({ ...found, endedAtMs: Math.min(found.deadlineMs, memory.now()) });
  if (found.deadlineMs <= memory.now()) {
    tell(memory, {
      ...{ type: 'session.expired', actor: found.component, reason: 'it gave no sign of life' },
      details: { sessionId: id, runtimeInfo: found.runtimeInfo },
    });
  }
  return memory.sessions.delete(id);
}

/** See `BmdbInspection.sessions`. */
export function sessionsOf(memory: Memory): SessionsReading {
  const atMs = memory.now();
  const there = [...memory.sessions.values()].map((each) =>
    lineOf(memory, each, each.deadlineMs > atMs ? null : each.deadlineMs),
  );
  const ended = memory.ended
    .filter(({ endedAtMs }) => endedAtMs >= atMs - DAY_MS)
    .map((each) => lineOf(memory, each, each.endedAtMs))
    .toSorted(inOrder)
    .slice(0, ENDED_MAX);
  return { atMs, sessions: [...there, ...ended].toSorted(inOrder) };
}

function lineOf(memory: Memory, session: MemSession, endedAtMs: number | null): SessionLine {
  const { sessionId, component, runtimeInfo, startedAtMs, deadlineMs, about } = session;
  const own = memory.work.filter((each) => each.sessionId === sessionId && endedAtMs === null);
  const processes = [...new Set(own.map(({ process }) => process))].toSorted();
  return {
    ...{ sessionId, component, runtimeInfo, startedAtMs, endedAtMs },
    deadlineAtMs: endedAtMs === null ? deadlineMs : null,
    about: about ?? { version: null, schema: null, roles: null, consoleUrl: null, logLevel: null },
    work: processes.map((process) => ({
      process,
      machines: own.filter((each) => each.process === process).length,
    })),
  };
}
