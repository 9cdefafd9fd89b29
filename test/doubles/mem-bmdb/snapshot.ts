import { cursor as asCursor } from '../../../src/domain/ids.ts';
import type { Cursor, MachineId } from '../../../src/domain/ids.ts';
import { openConditions } from './conditions.ts';
import { poolKey } from './balancing.ts';
import { isUnsettled, readReplacements, toIntentRow } from './intents.ts';
import { readJobs } from './jobs.ts';
import { readOpenRequests } from './requests.ts';
import { isSessionAlive, rowOf, rowsOf } from './rows.ts';
import type { Memory } from './tables.ts';
import type {
  BmdbChanges,
  BmdbSnapshot,
  BmdbSurroundings,
  ReadingMoment,
} from '../../../src/adapters/bmdb/port.ts';

/** See `Bmdb.scan`. */
export const readSnapshot = (memory: Memory): BmdbSnapshot => ({
  ...surroundings(memory),
  machines: rowsOf(memory),
});

/** See `Bmdb.changesSince`. */
export function readChanges(memory: Memory, cursor: Cursor): BmdbChanges | null {
  const since = Number(cursor);
  if (!Number.isSafeInteger(since) || since < 0 || since < memory.trimmedTo) return null;
  const ids = new Set<MachineId>();
  for (let at = memory.changes.length - 1; at >= 0; at--) {
    const { seq, machineId } = memory.changes[at]!;
    if (seq <= since) break;
    ids.add(machineId);
  }
  const found = [...ids].map((id) => memory.machines.get(id));
  return {
    ...surroundings(memory),
    machines: found.flatMap((machine) => (machine ? [rowOf(memory, machine)] : [])),
    gone: [...ids].filter((id) => !memory.machines.has(id)),
  };
}

const KEPT_MS = 5 * 60_000;

/** Deletes changes that no reader needs any more. */
export function trimChanges(memory: Memory): void {
  const limitMs = memory.now() - KEPT_MS;
  const first = memory.changes.findIndex((change) => change.atMs >= limitMs);
  const kept = first < 0 ? [] : memory.changes.slice(first);
  const last = memory.changes.at(-1 - kept.length);
  if (last) memory.trimmedTo = last.seq;
  memory.changes = kept;
}

/** The moment of a read. Each is newer than the ones before. */
export const moment = (memory: Memory): ReadingMoment => ({
  nowMs: memory.now(),
  version: memory.nextRead(),
});

function surroundings(memory: Memory): BmdbSurroundings {
  const now = memory.now();
  const { intents, holds, penalties, providerHolds, sessions } = memory;
  return {
    ...moment(memory),
    cursor: asCursor(String(memory.changes.at(-1)?.seq ?? memory.trimmedTo)),
    intents: [...intents.values()].filter(isUnsettled).map((each) => toIntentRow(memory, each)),
    holds: holds.filter((hold) => hold.untilMs === null || hold.untilMs > now),
    penalties: [...penalties.values()]
      .filter((penalty) => penalty.untilMs > now)
      .map(({ level: _, ...penalty }) => penalty),
    conditions: openConditions(memory),
    providerHolds: [...providerHolds.values()],
    leases: readJobs(memory),
    requests: readOpenRequests(memory),
    guard: [...memory.guard.rows.values()],
    replacements: readReplacements(memory),
    pools: [...memory.pools.values()].toSorted((a, b) => (poolKey(a) < poolKey(b) ? -1 : 1)),
    sessions: [...sessions.values()]
      .filter((session) => isSessionAlive(memory, session.sessionId))
      .map(({ sessionId, component }) => ({ sessionId, component })),
  };
}
