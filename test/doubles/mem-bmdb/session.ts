import { SessionExpired } from '../../../src/domain/errors.ts';
import { sessionId as asSessionId } from '../../../src/domain/ids.ts';
import {
  createSessionDeadline,
  type SessionDeadline,
} from '../../../src/adapters/bmdb/pg/session-deadline.ts';
import { createBalancingRepository } from './balancing.ts';
import { createWebhookService } from './webhooks.ts';
import { createRecordRepository } from './provider-records.ts';
import { createIntentRepository } from './intents.ts';
import { takeJob } from './jobs.ts';
import { cancelOn, cancelWork } from './leases.ts';
import { behind, plain, plainRepository } from './plain.ts';
import { updateProvided } from './provided.ts';
import { isSessionAlive } from './rows.ts';
import { removeSession } from './sessions.ts';
import { applyRequest } from './apply.ts';
import {
  requireReachable,
  type Memory,
  type MemSession,
  type MemWork,
  type SessionGate,
} from './tables.ts';
import { claim } from './claim.ts';
import type { BmdbSession, SessionOptions } from '../../../src/adapters/bmdb/port.ts';

/** See `Bmdb.openSession`. */
export function openSession(memory: Memory, options: SessionOptions): BmdbSession {
  const { clock, random } = memory.options;
  const { component, runtimeInfo, about = null } = options;
  // The tables count whole seconds; only the local deadline is exact.
  const intervalMs = 1000 * Math.max(1, Math.ceil(options.intervalMs / 1000));
  const sessionId = asSessionId(random.uuid());
  const row: MemSession = {
    sessionId,
    ...{ component, runtimeInfo, about, startedAtMs: memory.now() },
    intervalMs,
    deadlineMs: memory.now() + intervalMs,
  };
  memory.sessions.set(sessionId, row);
  memory.wake();
  const deadline = createSessionDeadline(clock, sessionId, options.intervalMs);
  deadline.extend(clock.monotonic());
  const gate = createGate(memory, deadline, row);
  return {
    sessionId,
    signal: deadline.signal,
    remainingMs: deadline.remainingMs,
    poke: async () => {
      gate.check();
      row.deadlineMs = memory.now() + intervalMs;
      deadline.extend(clock.monotonic());
    },
    close: async () => {
      deadline.expire(new SessionExpired(`session ${sessionId} was closed`));
      requireReachable(memory);
      cancelWork(memory, 'session closed', (work) => work.sessionId === sessionId);
      if (removeSession(memory, sessionId)) memory.wake();
    },
    claim: async (process, machineId) => plainRepository(claim(memory, gate, process, machineId)),
    releaseWork: async (machineId, epoch) => {
      gate.check();
      const machine = memory.machines.get(machineId);
      const isMine = (work: MemWork) =>
        work.sessionId === sessionId && (epoch === undefined || work.epoch === epoch);
      if (machine) cancelOn(memory, machine, 'released', isMine);
    },
    intents: behind(gate.check, plainRepository(createIntentRepository(memory, gate))),
    balancing: behind(gate.check, createBalancingRepository(memory, gate)),
    records: behind(gate.check, createRecordRepository(memory)),
    webhooks: behind(gate.check, plainRepository(createWebhookService(memory, gate))),
    lease: async (name) => takeJob(memory, gate, name),
    applyRequest: async (key) => applyRequest(memory, gate, key),
    updateProvided: async (machineId, patch) =>
      updateProvided(memory, gate, machineId, plain(patch)),
  };
}

const createGate = (
  memory: Memory,
  deadline: SessionDeadline,
  { sessionId, component }: MemSession,
): SessionGate => ({
  sessionId,
  component,
  signal: deadline.signal,
  check: () => {
    if (!deadline.signal.aborted) {
      requireReachable(memory);
      if (isSessionAlive(memory, sessionId)) return;
    }
    const cause: unknown = deadline.signal.reason;
    const error = new SessionExpired(`session ${sessionId} has expired`, { cause });
    deadline.expire(error);
    throw error;
  },
});
