import { SessionExpired } from '../../../domain/errors.ts';
import type { MachineId, SessionId } from '../../../domain/ids.ts';
import type { Process } from '../../../domain/machine.ts';
import type { LossPolicy, RecoveryBudget } from '../../../domain/policy.ts';
import type { Clock, Random } from '../../clock/port.ts';
import type { Log } from '../../log/port.ts';
import type { Database, Queries } from './pool.ts';

/** What all parts of the implementation share. */
export interface PgContext {
  readonly db: Database;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly loss: LossPolicy;
  readonly budget: RecoveryBudget;
  /** Share by which waits are lengthened at random. */
  readonly jitter: number;
}

/** One session, as its work and its intents see it. */
export interface LiveSession extends PgContext {
  readonly sessionId: SessionId;
  readonly component: string;
  readonly signal: AbortSignal;
  /** Local deadline, result of `Clock.monotonic`. */
  readonly deadlineMs: () => number;
  /** Aborts the signal. */
  readonly expire: (reason: SessionExpired) => void;
}

/**
 * A transaction that only a live session may make; its first statement checks that.
 * @throws {SessionExpired}
 */
export async function transactLive<T>(
  session: LiveSession,
  doing: string,
  body: (q: Queries) => Promise<T>,
): Promise<T> {
  if (session.signal.aborted) throw expired(session, doing);
  const { db, deadlineMs, signal } = session;
  try {
    return await db.transact({ doing, deadlineMs, signal }, async (q) => {
      await checkSession(q, session, doing);
      return body(q);
    });
  } catch (error) {
    if (signal.aborted && error !== signal.reason) throw expired(session, doing, error);
    throw error;
  }
}

// KEY SHARE: the janitor cannot delete the session under the transaction, and pokes are not blocked.
async function checkSession(q: Queries, session: LiveSession, doing: string): Promise<void> {
  const alive = await q.rows(
    `SELECT 1 FROM sessions WHERE session_id = $1 AND session_deadline > now() FOR KEY SHARE`,
    [session.sessionId],
  );
  if (alive.length > 0) return;
  const reason = expired(session, doing);
  session.expire(reason);
  throw reason;
}

const expired = (session: LiveSession, doing: string, cause: unknown = session.signal.reason) =>
  new SessionExpired(`did not ${doing}: session ${session.sessionId} has expired`, { cause });

/** One line of work history. */
export async function writeHistory(
  q: Queries,
  session: LiveSession,
  entry: {
    readonly machineId: MachineId;
    readonly process: Process;
    readonly epoch: string;
    readonly event: 'Started' | 'Finished' | 'Failed' | 'Canceled';
    readonly cause?: string;
  },
): Promise<void> {
  await q.run(
    `INSERT INTO work_history
       (machine_id, process, event, failed_cause, session_id, component, epoch)
     VALUES ($1, $2, $3, $4, $5, $6, $7)`,
    [
      entry.machineId,
      entry.process,
      entry.event,
      entry.cause ?? null,
      session.sessionId,
      session.component,
      entry.epoch,
    ],
  );
}

/** One line of the slot's log; none for a machine without hardware. */
export async function writeEvent(
  q: Queries,
  session: LiveSession,
  event: { readonly machineId: MachineId; readonly kind: string; readonly reason: string },
): Promise<void> {
  await q.run(
    `INSERT INTO slot_events (provider, slot_id, machine_id, kind, actor, reason, session_id)
     SELECT p.provider, coalesce(p.provider_reservation_id, p.provider_id), p.machine_id,
       $2::text, $3::text, $4::text, $5::uuid
     FROM machine_provided p WHERE p.machine_id = $1`,
    [event.machineId, event.kind, session.component, event.reason, session.sessionId],
  );
}
