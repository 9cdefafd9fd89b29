import { Cancelled } from '../../../domain/errors.ts';
import { createHeartbeats } from './heartbeats.ts';
import { isUnsettled, toIntentRow } from './intents.ts';
import { openSession } from './session.ts';
import { cancelWork, createMemory, isSessionAlive, refusalFor, rowOf } from './tables.ts';
import type { MemBmdbOptions, Memory, MemTables } from './tables.ts';
import type { Bmdb, BmdbSnapshot, Swept } from '../port.ts';

/** The rows lie open, for tests to set up and to look at. */
export interface MemBmdb extends Bmdb {
  readonly tables: MemTables;
}

/** The BMDB in memory, over the given clock: for simulation in virtual time. */
export function createMemBmdb(options: MemBmdbOptions): MemBmdb {
  const memory = createMemory(options);
  return {
    tables: memory,
    openSession: async (session) => openSession(memory, session),
    scan: async (signal) => {
      throwIfAborted(signal);
      return snapshot(memory);
    },
    readMachine: async (id, signal) => {
      throwIfAborted(signal);
      const machine = memory.machines.get(id);
      return { nowMs: memory.now(), row: machine ? rowOf(memory, machine) : null };
    },
    sweep: async () => sweep(memory),
    wakes$: memory.wakes$.asObservable(),
    heartbeats: createHeartbeats(memory),
    close: async () => memory.wakes$.complete(),
  };
}

function throwIfAborted(signal: AbortSignal): void {
  if (signal.aborted) throw new Cancelled('did not read: stopped', { cause: signal.reason });
}

function snapshot(memory: Memory): BmdbSnapshot {
  const now = memory.now();
  const { machines, intents, holds, penalties, sessions } = memory;
  return {
    nowMs: now,
    machines: [...machines.values()].map((machine) => rowOf(memory, machine)),
    intents: [...intents.values()].filter(isUnsettled).map((each) => toIntentRow(memory, each)),
    holds: holds.filter((hold) => hold.untilMs === null || hold.untilMs > now),
    penalties: [...penalties.values()]
      .filter((penalty) => penalty.untilMs > now)
      .map(({ level: _, ...penalty }) => penalty),
    sessions: [...sessions.values()]
      .filter((session) => isSessionAlive(memory, session.sessionId))
      .map(({ sessionId, component }) => ({ sessionId, component })),
  };
}

const KEPT: ReadonlySet<string | null> = new Set([
  null,
  'it is being worked on',
  'it waits after a failure',
  'it cools down after an attempt',
]);
const PERMIT_AGE_MS = 60_000;

function sweep(memory: Memory): Swept {
  const now = memory.now();
  const dead = [...memory.sessions.values()]
    .filter((session) => session.deadlineMs < now - 2 * session.intervalMs)
    .slice(0, 100);
  const ids = new Set(dead.map((session) => session.sessionId));
  const work = cancelWork(memory, 'session expired', (each) => ids.has(each.sessionId));
  for (const id of ids) memory.sessions.delete(id);
  let permits = 0;
  for (const machine of memory.machines.values()) {
    const grantedAtMs = machine.permitGrantedAtMs;
    if (grantedAtMs === null || grantedAtMs >= now - PERMIT_AGE_MS) continue;
    if (KEPT.has(refusalFor(memory, 'ShepherdRecovery', machine))) continue;
    machine.permitGrantedAtMs = null;
    permits += 1;
  }
  return { sessions: ids.size, work, permits };
}
