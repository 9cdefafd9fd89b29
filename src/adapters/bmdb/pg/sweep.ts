import type { LossPolicy } from '../../../domain/policy.ts';
import { statements as changes } from './reading/changes.ts';
import { cancelOfSessions, cancelOrphaned } from './claims/cancel.ts';
import { FROM, refusalSql } from './eligibility.ts';
import type { PgContext } from './live.ts';
import type { Queries } from './pool.ts';
import { statements as holds } from './provisioning/provider-holds.ts';
import { noteSilences } from './guard/silences.ts';
import { statement } from './statement.ts';
import type { Swept } from '../port.ts';

const SESSIONS_MAX = 100;
/** Rows that one call removes at most. */
const ORPHANED_MAX = 100;
const HISTORY_MAX = 1_000;
const CHANGES_MAX = 50_000;
const HOLDS_MAX = 1_000;
/** History that is kept: whichever is more. */
const KEEP_DAYS = 90;
const KEEP_ROWS = 1_000;

const STEP = { isolation: 'READ COMMITTED', lockTimeoutMs: 500 } as const;

export const statements = {
  /** Waits for nobody: one that a transaction of its own holds is not dead yet. */
  deadSessions: statement({
    name: 'sweep-dead-sessions',
    params: { limit: 'int8' },
    columns: { session_id: 'uuid' },
    text: ({ limit }) =>
      `SELECT session_id FROM sessions
       WHERE session_deadline < now() - 2 * session_interval_seconds * interval '1 second'
       ORDER BY session_deadline LIMIT ${limit} FOR UPDATE SKIP LOCKED`,
  }),
  removeSessions: statement({
    name: 'sweep-remove-sessions',
    params: { sessions: 'uuid[]' },
    columns: {},
    text: ({ sessions }) => `DELETE FROM sessions WHERE session_id = ANY (${sessions})`,
  }),
  trimHistory: statement({
    name: 'sweep-trim-history',
    params: { days: 'int4', rows: 'int4', limit: 'int4' },
    columns: { removed: 'int8' },
    text: ({ days, rows, limit }) =>
      `SELECT shepherd_trim_history(${days}, ${rows}, ${limit}) AS removed`,
  }),
  trimLogs: statement({
    name: 'sweep-trim-logs',
    params: { days: 'int4', rows: 'int4', limit: 'int4' },
    columns: { removed: 'int8' },
    text: ({ days, rows, limit }) =>
      `SELECT shepherd_trim_logs(${days}, ${rows}, ${limit}) AS removed`,
  }),
};

/** Of machines that nobody works on and that no longer need recovery (parked, for one). */
const needless = (loss: LossPolicy) =>
  `granted_at < now() - interval '1 minute'
     AND machine_id IN (SELECT m.machine_id ${FROM}
       WHERE m.machine_id IN (SELECT machine_id FROM recovery_permits)
         AND ${refusalSql('ShepherdRecovery', loss)} NOT IN ('it is being worked on',
           'it waits after a failure', 'it cools down after an attempt'))`;

export const statementsFor = (loss: LossPolicy) => ({
  /** A permit that somebody has locked is just being relied on. */
  lockPermits: statement({
    name: 'sweep-lock-permits',
    params: {},
    columns: { machine_id: 'uuid' },
    text: () =>
      `SELECT machine_id FROM recovery_permits WHERE ${needless(loss)}
       ORDER BY machine_id FOR UPDATE SKIP LOCKED`,
  }),
  takeBackPermits: statement({
    name: 'sweep-take-back-permits',
    params: { machines: 'uuid[]' },
    columns: {},
    text: ({ machines }) =>
      `DELETE FROM recovery_permits WHERE machine_id = ANY (${machines}) AND ${needless(loss)}`,
  }),
});

/**
 * See `Bmdb.sweep`. Safe to run in several daemons at once. What cannot be done now is done the next
 * time, and keeps nothing else from being done.
 * @throws the first error when nothing at all could be done.
 */
export async function sweep(context: PgContext): Promise<Swept> {
  const { db, loss } = context;
  const failures: unknown[] = [];
  let done = 0;
  const step = async (doing: string, body: (q: Queries) => Promise<number>): Promise<number> => {
    try {
      const count = await db.transact({ doing, ...STEP }, body);
      done += 1;
      return count;
    } catch (err) {
      failures.push(err);
      context.log.warn({ err, doing }, 'a step of the sweep failed; the others go on');
      return 0;
    }
  };
  const dead = { sessions: 0, work: 0 };
  await step(
    'remove dead sessions',
    async (q) => Object.assign(dead, await removeSessions(q)).work,
  );
  const orphaned = await step('cancel work of no session', (q) => cancelOrphaned(q, ORPHANED_MAX));
  const permits = await step('take back permits', (q) => takeBackPermits(q, loss));
  await step('note who is silent', (q) => noteSilences(q, context));
  const history = await step('trim the history of work', (q) => trim(q, statements.trimHistory));
  await step('trim the logs', (q) => trim(q, statements.trimLogs));
  await step('forget holds of providers', (q) => q.run(holds.trim, { limit: HOLDS_MAX }));
  await step('trim the changes', (q) => q.run(changes.trimChanges, { limit: CHANGES_MAX }));
  if (done === 0) throw failures[0];
  return { sessions: dead.sessions, work: dead.work + orphaned, permits, history };
}

/** A session with work that somebody has locked is left for the next time. */
async function removeSessions(q: Queries): Promise<Pick<Swept, 'sessions' | 'work'>> {
  const dead = await q.rows(statements.deadSessions, { limit: SESSIONS_MAX });
  if (dead.length === 0) return { sessions: 0, work: 0 };
  const all = dead.map((row) => row.session_id);
  const { work, left } = await cancelOfSessions(q, all, 'session expired');
  const sessions = all.filter((id) => !left.has(id));
  if (sessions.length > 0) await q.run(statements.removeSessions, { sessions });
  return { sessions: sessions.length, work };
}

/** Looks once more when it has locked them: a claim may have come to rely on one meanwhile. */
async function takeBackPermits(q: Queries, loss: LossPolicy): Promise<number> {
  const { lockPermits, takeBackPermits: takeBack } = statementsFor(loss);
  const locked = await q.rows(lockPermits, {});
  if (locked.length === 0) return 0;
  return q.run(takeBack, { machines: locked.map((row) => row.machine_id) });
}

async function trim(
  q: Queries,
  how: typeof statements.trimHistory | typeof statements.trimLogs,
): Promise<number> {
  const args = { days: KEEP_DAYS, rows: KEEP_ROWS, limit: HISTORY_MAX };
  const [row] = await q.rows(how, args);
  return Number(row!.removed);
}
