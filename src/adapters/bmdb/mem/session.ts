import { NotFound, SessionExpired } from '../../../domain/errors.ts';
import { sessionId as asSessionId } from '../../../domain/ids.ts';
import type { MachineId, SessionId } from '../../../domain/ids.ts';
import { createLifeline } from '../pg/lifeline.ts';
import type { Lifeline } from '../pg/lifeline.ts';
import { createIntentBook } from './intents.ts';
import { cancelWork, isSessionAlive, patch } from './tables.ts';
import type { Memory, MemSession } from './tables.ts';
import { claim } from './work.ts';
import type { SessionGate } from './gate.ts';
import type { BmdbSession, ProvidedPatch, SessionOptions } from '../port.ts';

/** See `Bmdb.openSession`. */
export function openSession(memory: Memory, options: SessionOptions): BmdbSession {
  const { clock, random } = memory.options;
  const { component, intervalMs } = options;
  const sessionId = asSessionId(random.uuid());
  const row: MemSession = {
    ...{ sessionId, component, intervalMs },
    deadlineMs: memory.now() + intervalMs,
  };
  memory.sessions.set(sessionId, row);
  memory.wake();
  const lifeline = createLifeline(clock, sessionId, intervalMs);
  lifeline.extend(clock.monotonic());
  const gate = createGate(memory, lifeline, sessionId);
  return {
    sessionId,
    signal: lifeline.signal,
    remainingMs: lifeline.remainingMs,
    poke: async () => {
      gate.check();
      row.deadlineMs = memory.now() + intervalMs;
      lifeline.extend(clock.monotonic());
    },
    close: async () => {
      lifeline.expire(new SessionExpired(`session ${sessionId} was closed`));
      cancelWork(memory, 'session closed', (work) => work.sessionId === sessionId);
      if (memory.sessions.delete(sessionId)) memory.wake();
    },
    claim: async (process, machineId) => claim(memory, gate, process, machineId),
    releaseWork: async (machineId) => {
      gate.check();
      cancelWork(
        memory,
        'released',
        (work) => work.machineId === machineId && work.sessionId === sessionId,
      );
    },
    intents: createIntentBook(memory, gate),
    updateProvided: async (machineId, change) => {
      gate.check();
      updateProvided(memory, machineId, change);
    },
  };
}

const createGate = (memory: Memory, lifeline: Lifeline, sessionId: SessionId): SessionGate => ({
  sessionId,
  signal: lifeline.signal,
  check: () => {
    if (!lifeline.signal.aborted && isSessionAlive(memory, sessionId)) return;
    const cause: unknown = lifeline.signal.reason;
    const error = new SessionExpired(`session ${sessionId} has expired`, { cause });
    lifeline.expire(error);
    throw error;
  },
});

function updateProvided(memory: Memory, machineId: MachineId, change: ProvidedPatch): void {
  const machine = memory.machines.get(machineId);
  const provided = machine?.row.provided;
  if (!machine || !provided) throw new NotFound(`machine ${machineId} has no hardware recorded`);
  patch(machine, { provided: { ...provided, ...change } });
  if (change.status === 'Missing') machine.permitGrantedAtMs = null;
  memory.wake();
}
