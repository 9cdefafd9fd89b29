import { removeSession } from './sessions.ts';
import { cancelWork } from './leases.ts';
import { trimCases } from './cases.ts';
import { trimEpisodes } from './episodes.ts';
import { trimRolls } from './rolls.ts';
import { trimDeliveries } from './webhooks.ts';
import { endExpiredHolds } from './events.ts';
import { trimProviderHolds } from './provider-holds.ts';
import { trimHistory } from './records.ts';
import { refusalFor } from './rows.ts';
import { noteSilences } from './guard.ts';
import { trimChanges } from './snapshot.ts';
import { dropPermit, type Memory } from './tables.ts';
import type { Swept } from '../../../src/adapters/bmdb/port.ts';

const SESSIONS_MAX = 100;
const PERMIT_AGE_MS = 60_000;
/** With these quarantine reasons, or with none, the machine may still be recovered. */
const KEPT: ReadonlySet<string | null> = new Set([
  null,
  'it is being worked on',
  'it waits after a failure',
  'it cools down after an attempt',
]);

/**
 * See `Bmdb.sweep`. Slot logs, requests and creations are kept, because no test runs for months.
 */
export function sweep(memory: Memory): Swept {
  const swept = sweepSessions(memory);
  const permits = sweepPermits(memory);
  noteSilences(memory);
  trimChanges(memory);
  trimProviderHolds(memory);
  endExpiredHolds(memory);
  trimDeliveries(memory);
  trimEpisodes(memory);
  trimCases(memory);
  trimRolls(memory);
  return { ...swept, permits, ...trimHistory(memory) };
}

function sweepSessions(memory: Memory): Pick<Swept, 'sessions' | 'work'> {
  const now = memory.now();
  const dead = [...memory.sessions.values()]
    .filter((session) => session.deadlineMs < now - 2 * session.intervalMs)
    .toSorted((a, b) => a.deadlineMs - b.deadlineMs)
    .slice(0, SESSIONS_MAX);
  if (dead.length === 0) return { sessions: 0, work: 0 };
  const ids = new Set(dead.map((session) => session.sessionId));
  const work = cancelWork(memory, 'session expired', (each) => ids.has(each.sessionId));
  for (const id of ids) removeSession(memory, id);
  memory.wake();
  return { sessions: ids.size, work };
}

function sweepPermits(memory: Memory): number {
  const limitMs = memory.now() - PERMIT_AGE_MS;
  const needless = [...memory.machines.values()].filter(
    (machine) =>
      machine.permitGrantedAtMs !== null &&
      machine.permitGrantedAtMs < limitMs &&
      !KEPT.has(refusalFor(memory, 'ShepherdRecovery', machine)),
  );
  return needless.filter((machine) => dropPermit(memory, machine)).length;
}
