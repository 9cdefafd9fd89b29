import { SessionExpired, TimedOut } from '../../../domain/errors.ts';
import { sessionId } from '../../../domain/ids.ts';
import type { MachineId } from '../../../domain/ids.ts';
import type { Clock } from '../../clock/port.ts';
import { createLifeline } from './lifeline.ts';
import type { Lifeline } from './lifeline.ts';
import { cancelWork } from './cancel.ts';
import { claim } from './claim.ts';
import { createIntentBook } from './intents.ts';
import { transactLive } from './live.ts';
import type { LiveSession, PgContext } from './live.ts';
import type { Database } from './pool.ts';
import { updateProvided } from './provided.ts';
import type { BmdbSession, SessionOptions } from '../port.ts';

/**
 * See `Bmdb.openSession`.
 * @param pulse connections for pokes only, so that they never queue behind other work.
 */
export async function openSession(
  context: PgContext,
  pulse: Database,
  options: SessionOptions,
): Promise<BmdbSession> {
  const intervalSeconds = Math.max(1, Math.ceil(options.intervalMs / 1000));
  const startedMs = context.clock.monotonic();
  const [row] = await pulse.rows<{ session_id: string }>(
    `open a session of ${options.component}`,
    `INSERT INTO sessions (session_component_name, session_runtime_info,
       session_interval_seconds, session_deadline)
     VALUES ($1, $2, $3::bigint, now() + $3::bigint * interval '1 second') RETURNING session_id`,
    [options.component, options.runtimeInfo, intervalSeconds],
  );
  const id = sessionId(row!.session_id);
  const lifeline = createLifeline(context.clock, id, options.intervalMs);
  lifeline.extend(startedMs);
  const session: LiveSession = {
    ...context,
    sessionId: id,
    component: options.component,
    signal: lifeline.signal,
    deadlineMs: lifeline.deadlineMs,
    expire: lifeline.expire,
  };
  return {
    sessionId: id,
    signal: lifeline.signal,
    remainingMs: lifeline.remainingMs,
    poke: () => poke(session, pulse, lifeline),
    close: () => close(session, pulse),
    claim: (process, machine) => claim(session, process, machine),
    releaseWork: (machine) => releaseWork(session, machine),
    intents: createIntentBook(session),
    updateProvided: (machine, patch) => updateProvided(session, machine, patch),
  };
}

async function poke(session: LiveSession, pulse: Database, lifeline: Lifeline): Promise<void> {
  const { signal, sessionId: id } = session;
  if (signal.aborted) throw new SessionExpired(`session ${id} is dead`, { cause: signal.reason });
  const startedMs = session.clock.monotonic();
  const doing = `extend session ${id}`;
  const limitMs = Math.max(1, lifeline.remainingMs() / 2);
  const alive = await withLimit(session.clock, limitMs, doing, () =>
    pulse.rows(
      doing,
      `UPDATE sessions
       SET session_deadline = now() + session_interval_seconds * interval '1 second'
       WHERE session_id = $1 AND session_deadline > now() RETURNING 1`,
      [id],
    ),
  );
  if (alive.length > 0) {
    lifeline.extend(startedMs);
    return;
  }
  const gone = new SessionExpired(`session ${id} is no longer in the database, or too old`);
  lifeline.expire(gone);
  throw gone;
}

/** A poke that hangs must leave time for another. @throws {TimedOut} */
function withLimit<T>(
  clock: Clock,
  limitMs: number,
  doing: string,
  run: () => Promise<T>,
): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = clock.setTimeout(
      () => reject(new TimedOut(`could not ${doing} within ${Math.round(limitMs)} ms`)),
      limitMs,
    );
    run()
      .then(resolve, reject)
      .finally(() => clock.clearTimeout(timer));
  });
}

async function releaseWork(session: LiveSession, machineId: MachineId): Promise<void> {
  await transactLive(session, `release machine ${machineId}`, async (q) => {
    await cancelWork(q, 'released', 'w.machine_id = $2 AND w.session_id = $3', [
      machineId,
      session.sessionId,
    ]);
  });
}

/** Goes through even when the local deadline has passed: a late goodbye spares others a wait. */
async function close(session: LiveSession, pulse: Database): Promise<void> {
  const { sessionId: id } = session;
  session.expire(new SessionExpired(`session ${id} was closed`));
  await pulse.transact({ doing: `close session ${id}` }, async (q) => {
    await cancelWork(q, 'session closed', 'w.session_id = $2', [id]);
    await q.run(`DELETE FROM sessions WHERE session_id = $1`, [id]);
  });
}
