import { isRetryable, Locked, SessionExpired, TimedOut } from '../../../domain/errors.ts';
import type { MachineId, SessionId } from '../../../domain/ids.ts';
import type { Clock } from '../../clock/port.ts';
import { createBalancingRepository } from './balancing/repository.ts';
import { createWebhookService } from './events/webhook-service.ts';
import { createRecordRepository } from './records/records.ts';
import { createSessionDeadline } from './session-deadline.ts';
import type { SessionDeadline } from './session-deadline.ts';
import { cancelOfSessions, cancelOnMachine } from './claims/cancel.ts';
import { createWorks } from './tasks/works.ts';

import { createIntentRepository } from './provisioning/intents.ts';
import { takeLease } from './provisioning/leases.ts';
import { transactLive } from './live.ts';
import type { LiveSession, PgContext } from './live.ts';
import type { Database, Queries } from './pool.ts';
import { repeated } from './repeat.ts';
import { applyRequest } from './people/apply.ts';
import { named, statement } from './statement.ts';
import { createProvidedUpdates } from './provisioning/provided.ts';
import type { BmdbSession, SessionOptions } from '../port.ts';

export const statements = named('session', {
  open: statement({
    params: {
      ...{ component: 'text', runtimeInfo: 'text', seconds: 'int8', version: 'text?' },
      ...{ schema: 'text?', roles: 'text[]?', consoleUrl: 'text?', logLevel: 'text?' },
    },
    columns: { session_id: 'session' },
    text: ({ component, runtimeInfo, seconds, version, schema, roles, consoleUrl, logLevel }) =>
      `INSERT INTO sessions (session_component_name, session_runtime_info,
         session_interval_seconds, session_deadline, version, schema_version, roles, console_url,
         log_level)
       VALUES (${component}, ${runtimeInfo}, ${seconds}, now() + ${seconds} * interval '1 second',
         ${version}, ${schema}, ${roles}, ${consoleUrl}, ${logLevel})
       RETURNING session_id`,
  }),
  // The statement's time, not the transaction's: a claim may have found the session dead meanwhile.
  poke: statement({
    params: { session: 'uuid' },
    columns: { session_id: 'uuid' },
    text: ({ session }) =>
      `UPDATE sessions
       SET session_deadline = now() + session_interval_seconds * interval '1 second'
       WHERE session_id = ${session} AND session_deadline > clock_timestamp()
       RETURNING session_id`,
  }),
  // Waits for the session's own transactions, which hold its row FOR KEY SHARE.
  lock: statement({
    params: { session: 'uuid' },
    columns: { session_id: 'uuid' },
    text: ({ session }) =>
      `SELECT session_id FROM sessions WHERE session_id = ${session} FOR UPDATE`,
  }),
  /**
   * Ends the session early, so that others need not wait for its deadline. A session that was
   * already dead counts as expired.
   */
  lapse: statement({
    params: { session: 'uuid' },
    text: ({ session }) =>
      `UPDATE sessions SET session_deadline = least(session_deadline, now()),
         closed_at = CASE WHEN session_deadline > now() THEN now() ELSE closed_at END
       WHERE session_id = ${session}`,
  }),
  remove: statement({
    params: { session: 'uuid' },
    text: ({ session }) => `DELETE FROM sessions WHERE session_id = ${session}`,
  }),
});

/**
 * See `Bmdb.openSession`.
 * @param pulse connections for pokes only, so that pokes never queue behind other work.
 */
export async function openSession(
  context: PgContext,
  pulse: Database,
  options: SessionOptions,
): Promise<BmdbSession> {
  const intervalSeconds = Math.max(1, Math.ceil(options.intervalMs / 1000));
  const startedMs = context.clock.monotonic();
  const { component, runtimeInfo, about = {} } = options;
  const doing = `open a session of ${component}`;
  const given = { ...about, component, runtimeInfo, seconds: intervalSeconds };
  const [row] = await pulse.once({ doing }, statements.open, given);
  const id = row!.session_id;
  const deadline = createSessionDeadline(context.clock, id, options.intervalMs);
  deadline.extend(startedMs);
  const session: LiveSession = {
    ...context,
    sessionId: id,
    component: options.component,
    signal: deadline.signal,
    deadlineMs: deadline.deadlineMs,
    expire: deadline.expire,
  };
  const { claim, counts } = createWorks(session);
  context.metrics.count('bmdb_session_started', { processor: 'shepherd' });
  return {
    sessionId: id,
    signal: deadline.signal,
    remainingMs: deadline.remainingMs,
    poke: () => poke(session, pulse, deadline),
    close: () => counts.closing(() => close(session, pulse)),
    claim,
    releaseWork: async (machine, epoch) => {
      await releaseWork(session, machine, epoch ?? null);
      counts.released(machine, epoch);
    },
    intents: createIntentRepository(session),
    balancing: createBalancingRepository(session),
    records: createRecordRepository(session),
    webhooks: createWebhookService(session),
    lease: (name) => takeLease(session, name),
    applyRequest: (key) => applyRequest(session, key),
    updateProvided: createProvidedUpdates(session),
  };
}

async function poke(
  session: LiveSession,
  pulse: Database,
  deadline: SessionDeadline,
): Promise<void> {
  const { signal, sessionId: id } = session;
  if (signal.aborted) throw new SessionExpired(`session ${id} is dead`, { cause: signal.reason });
  const startedMs = session.clock.monotonic();
  const doing = `extend session ${id}`;
  const limitMs = Math.max(1, deadline.remainingMs() / 2);
  const alive = await withLimit(session.clock, limitMs, doing, () =>
    pulse.once({ doing }, statements.poke, { session: id }),
  );
  if (alive.length > 0) {
    deadline.extend(startedMs);
    return;
  }
  const gone = new SessionExpired(`session ${id} is expired, or no longer in the database`);
  deadline.expire(gone);
  throw gone;
}

/** A hanging poke must leave time for another. @throws {TimedOut} */
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

async function releaseWork(
  session: LiveSession,
  machine: MachineId,
  epoch: string | null,
): Promise<void> {
  const doing = `release machine ${machine}`;
  await transactLive(session, { doing, isolation: 'READ COMMITTED' }, (q) =>
    cancelOnMachine(q, { machine, session: session.sessionId, epoch, cause: 'released' }),
  );
}

/**
 * Runs even after the local deadline, and is retried for a while: a late goodbye saves others a
 * wait. Work that others have locked counts as dead work from then on.
 * @throws {Locked} such work is left.
 */
async function close(session: LiveSession, pulse: Database): Promise<void> {
  const { sessionId: id, clock, random, lockTimeoutMs } = session;
  const doing = `close session ${id}`;
  session.expire(new SessionExpired(`session ${id} was closed`));
  const options = { doing, isolation: 'READ COMMITTED', lockTimeoutMs } as const;
  await repeated({ clock, random, isPassing: isRetryable }, async () => {
    const isGone = await pulse.transact(options, (q) => sayGoodbye(q, id));
    if (!isGone)
      throw new Locked(`did not ${doing}: other transactions hold locks on some of its work`);
  });
}

async function sayGoodbye(q: Queries, session: SessionId): Promise<boolean> {
  await q.rows(statements.lock, { session });
  const { left } = await cancelOfSessions(q, [session], 'session closed');
  await q.run(left.size === 0 ? statements.remove : statements.lapse, { session });
  return left.size === 0;
}
