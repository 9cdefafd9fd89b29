import { LeaseLost, SessionExpired } from '../../../src/domain/errors.ts';
import type { LeaseRow } from '../../../src/domain/daemons.ts';
import { requireJobName } from '../../../src/adapters/bmdb/preconditions.ts';
import type { SessionGate, MemJob, Memory } from './tables.ts';
import { isSessionAlive } from './rows.ts';
import type { Lease } from '../../../src/adapters/bmdb/port.ts';

/** See `BmdbSession.lease`. */
export function takeJob(memory: Memory, gate: SessionGate, name: string): Lease | null {
  requireJobName(name);
  gate.check();
  const { sessionId } = gate;
  const held = memory.jobs.get(name);
  if (held?.sessionId === sessionId) return createLease(memory, gate, held);
  if (held && isSessionAlive(memory, held.sessionId)) return null;
  const job: MemJob = { name, sessionId, epoch: String(memory.nextNumber()) };
  memory.jobs.set(name, job);
  memory.wake();
  return createLease(memory, gate, job);
}

const createLease = (memory: Memory, gate: SessionGate, { name, epoch }: MemJob): Lease => ({
  name,
  epoch,
  release: async () => {
    if (!isAlive(gate)) return;
    const held = memory.jobs.get(name);
    if (held?.sessionId !== gate.sessionId || held.epoch !== epoch) return;
    memory.jobs.delete(name);
    memory.wake();
  },
});

/** A dead session holds nothing to release. */
function isAlive(gate: SessionGate): boolean {
  try {
    gate.check();
    return true;
  } catch (error) {
    if (error instanceof SessionExpired) return false;
    throw error;
  }
}

/** @throws {LeaseLost} somebody else holds the job, or nobody. */
export function requireJob(memory: Memory, gate: SessionGate, { name, epoch }: Lease): void {
  const held = memory.jobs.get(name);
  if (held?.sessionId === gate.sessionId && held.epoch === epoch) return;
  throw new LeaseLost(`${name} (lease ${epoch}) is no longer ours`);
}

/** All jobs that were taken and not released. */
export const readJobs = (memory: Memory): LeaseRow[] =>
  [...memory.jobs.values()].map(({ name, sessionId }) => ({
    name,
    sessionId,
    held: isSessionAlive(memory, sessionId),
  }));
