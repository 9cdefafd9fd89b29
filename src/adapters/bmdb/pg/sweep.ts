import type { LossPolicy } from '../../../domain/policy.ts';
import { FLEET } from '../../../domain/recovery/guard-judgement.ts';
import { statements as changes } from './reading/changes.ts';
import { cancelOfSessions, cancelOrphaned } from './claims/cancel.ts';
import { FROM, ruleSql } from './eligibility.ts';
import { OUTDATED_CASES, trimCases } from './cases/repository.ts';
import type { PgContext } from './live.ts';
import type { Queries } from './pool.ts';
import { OLD_ROLL, statements as rolls } from './people/rolls.ts';
import { statements as holds } from './provisioning/provider-holds.ts';
import { OUTDATED, statements as episodes } from './recovery/episodes.ts';
import { statements as deliveries, UNKEPT } from './events/webhooks.ts';
import { noteSilences } from './guard/silences.ts';
import { named, statement } from './statement.ts';
import type { Swept } from '../port.ts';

const SESSIONS_MAX = 100;
/** Maximum rows that one call removes. */
const ORPHANED_MAX = 100;
const ROWS_MAX = 1_000;
const CHANGES_MAX = 50_000;
/** How much history is kept; the larger of the two counts. */
const KEEP_DAYS = 90;
const KEEP_ROWS = 1_000;

const KEPT = { days: KEEP_DAYS, rows: KEEP_ROWS, limit: ROWS_MAX };
const STEP = { isolation: 'READ COMMITTED', lockTimeoutMs: 500 } as const;

const DEAD = `session_deadline < now() - 2 * session_interval_seconds * interval '1 second'`;

/**
 * Whether each step has work to do. Silences: some are open, or the guard counted some or has not
 * counted yet.
 */
const DUE = {
  sessions: `EXISTS (SELECT 1 FROM sessions WHERE ${DEAD})`,
  work: `EXISTS (SELECT 1 FROM work w WHERE w.session_id IS NOT NULL
    AND NOT EXISTS (SELECT 1 FROM sessions s WHERE s.session_id = w.session_id))`,
  permits: 'EXISTS (SELECT 1 FROM recovery_permits)',
  silences: `EXISTS (SELECT 1 FROM silent_machines) OR NOT EXISTS (SELECT 1 FROM guard_pulse
    WHERE counts @> '[{"scope": "${FLEET}", "silent": 0}]')`,
  holds: `EXISTS (SELECT 1 FROM provider_holds
    WHERE kind <> 'penalty' AND until < now() - interval '1 day')`,
  expired: 'EXISTS (SELECT 1 FROM slot_holds WHERE until <= now())',
  events: `EXISTS (SELECT 1 FROM (SELECT at FROM fleet_events ORDER BY seq LIMIT 1) oldest
    WHERE oldest.at < now() - interval '${KEEP_DAYS} days')`,
  letters: `(${UNKEPT})`,
  episodes: `EXISTS (SELECT 1 FROM recovery_episodes WHERE ${OUTDATED})`,
  cases: `(${OUTDATED_CASES})`,
  rolls: `EXISTS (SELECT 1 FROM fleet_rolls WHERE ${OLD_ROLL})`,
  changes: `EXISTS (SELECT 1 FROM (SELECT at FROM machine_changes ORDER BY xid LIMIT 1) oldest
    WHERE oldest.at < now() - interval '5 minutes')`,
};
const ofEach = <const T>(value: T) =>
  Object.fromEntries(Object.keys(DUE).map((name) => [name, value])) as Record<keyof typeof DUE, T>;

/** Calls a function that deletes what is both older than `KEEP_DAYS` and beyond `KEEP_ROWS`. */
const trimming = (what: 'history' | 'logs' | 'events') =>
  statement({
    name: `sweep-trim-${what}`,
    params: { days: 'int4', rows: 'int4', limit: 'int4' },
    columns: { removed: 'int8' },
    text: ({ days, rows, limit }) =>
      `SELECT shepherd_trim_${what}(${days}, ${rows}, ${limit}) AS removed`,
  });

export const statements = named('sweep', {
  /** A fleet in which nothing happens costs only this query. */
  due: statement({
    columns: ofEach('bool'),
    text: () => `
      SELECT ${Object.entries(DUE)
        .map(([name, sql]) => `${sql} AS ${name}`)
        .join(',\n        ')}`,
  }),
  /** Waits for nobody: a session locked by one of its own transactions is not dead yet. */
  deadSessions: statement({
    params: { limit: 'int8' },
    columns: { session_id: 'uuid' },
    text: ({ limit }) =>
      `SELECT session_id FROM sessions
       WHERE ${DEAD}
       ORDER BY session_deadline LIMIT ${limit} FOR UPDATE SKIP LOCKED`,
  }),
  removeSessions: statement({
    params: { sessions: 'uuid[]' },
    text: ({ sessions }) => `DELETE FROM sessions WHERE session_id = ANY (${sessions})`,
  }),
  trimHistory: trimming('history'),
  trimLogs: trimming('logs'),
  trimEvents: trimming('events'),
  /** Expired holds of operators; a trigger logs each. A hold that is being renewed is skipped. */
  removeExpired: statement({
    name: 'sweep-remove-expired-holds',
    params: { limit: 'int8' },
    text: ({ limit }) =>
      `DELETE FROM slot_holds WHERE (provider, slot_id, kind) IN (
         SELECT h.provider, h.slot_id, h.kind FROM slot_holds h WHERE h.until <= now()
         LIMIT ${limit} FOR UPDATE SKIP LOCKED)`,
  }),
});

/**
 * Permits of machines that nobody works on and that no longer need recovery, for example because
 * they are parked.
 */
const needless = (loss: LossPolicy) =>
  `granted_at < now() - interval '1 minute'
     AND machine_id IN (SELECT m.machine_id ${FROM}
       WHERE m.machine_id IN (SELECT machine_id FROM recovery_permits)
         AND ${ruleSql('refusal', 'ShepherdRecovery', loss)} NOT IN ('it is being worked on',
           'it waits after a failure', 'it cools down after an attempt'))`;

export const statementsFor = (loss: LossPolicy) => ({
  /** A locked permit is in use at this moment. */
  lockPermits: statement({
    name: 'sweep-lock-permits',
    columns: { machine_id: 'uuid' },
    text: () =>
      `SELECT machine_id FROM recovery_permits WHERE ${needless(loss)}
       ORDER BY machine_id FOR UPDATE SKIP LOCKED`,
  }),
  takeBackPermits: statement({
    name: 'sweep-take-back-permits',
    params: { machines: 'uuid[]' },
    text: ({ machines }) =>
      `DELETE FROM recovery_permits WHERE machine_id = ANY (${machines}) AND ${needless(loss)}`,
  }),
});

/**
 * See `Bmdb.sweep`. May run in several daemons at once. A step that fails is retried in the next
 * sweep and does not stop the others.
 * @throws the first error if no step succeeded.
 */
export async function sweep(context: PgContext): Promise<Swept> {
  const { db, loss } = context;
  const failures: unknown[] = [];
  let done = 0;
  const trying = async <T>(doing: string, otherwise: T, task: () => Promise<T>): Promise<T> => {
    try {
      const result = await task();
      done += 1;
      return result;
    } catch (err) {
      failures.push(err);
      context.log.warn({ err, doing }, 'a sweep step failed; the others continue');
      return otherwise;
    }
  };
  const step = (doing: string, body: (q: Queries) => Promise<number>): Promise<number> =>
    trying(doing, 0, () => db.transact({ doing, ...STEP }, body));
  const trim = (doing: string, how: ReturnType<typeof trimming>): Promise<number> =>
    trying(doing, 0, async () => Number((await db.once({ doing }, how, KEPT))[0]!.removed));

  const looking = 'find what to sweep';
  const [found] = await trying(looking, [ofEach(true)], () =>
    db.once({ doing: looking }, statements.due, {}),
  );
  const due = { ...found! };
  /** Runs a step if it is due. */
  const stepIf = (name: keyof typeof DUE, doing: string, body: (q: Queries) => Promise<number>) =>
    due[name] ? step(doing, body) : 0;
  const dead = { sessions: 0, work: 0 };
  await stepIf(
    'sessions',
    'remove dead sessions',
    async (q) => Object.assign(dead, await removeSessions(q)).work,
  );
  due.work ||= dead.sessions > 0;
  const orphaned = await stepIf('work', 'cancel work without a session', (q) =>
    cancelOrphaned(q, ORPHANED_MAX),
  );
  const permits = await stepIf('permits', 'take back permits', (q) => takeBackPermits(q, loss));
  await stepIf('silences', 'record silent machines', (q) => noteSilences(q, context));
  const history = await trim('trim the work history', statements.trimHistory);
  await trim('trim the logs', statements.trimLogs);
  if (due.events) await trim('trim the events', statements.trimEvents);
  await stepIf('letters', 'delete dead letters and abandoned deliveries', (q) =>
    q.run(deliveries.trim, { limit: ROWS_MAX }),
  );
  await stepIf('episodes', 'delete old recoveries', (q) =>
    q.run(episodes.trim, { limit: ROWS_MAX }),
  );
  await stepIf('cases', 'delete old cases and evidence', (q) => trimCases(q, ROWS_MAX));
  await stepIf('rolls', 'delete old rolling actions', (q) =>
    q.run(rolls.trim, { limit: ROWS_MAX }),
  );
  await stepIf('expired', 'end expired holds', (q) =>
    q.run(statements.removeExpired, { limit: ROWS_MAX }),
  );
  await stepIf('holds', 'delete expired provider holds', (q) =>
    q.run(holds.trim, { limit: ROWS_MAX }),
  );
  await stepIf('changes', 'trim the changes', (q) =>
    q.run(changes.trimChanges, { limit: CHANGES_MAX }),
  );
  if (done === 0) throw failures[0];
  return { sessions: dead.sessions, work: dead.work + orphaned, permits, history };
}

/** Skips sessions whose work others have locked. */
async function removeSessions(q: Queries): Promise<Pick<Swept, 'sessions' | 'work'>> {
  const dead = await q.rows(statements.deadSessions, { limit: SESSIONS_MAX });
  if (dead.length === 0) return { sessions: 0, work: 0 };
  const all = dead.map((row) => row.session_id);
  const { work, left } = await cancelOfSessions(q, all, 'session expired');
  const sessions = all.filter((id) => !left.has(id));
  if (sessions.length > 0) await q.run(statements.removeSessions, { sessions });
  return { sessions: sessions.length, work };
}

/** Checks again after locking: a claim may have started to rely on a permit meanwhile. */
async function takeBackPermits(q: Queries, loss: LossPolicy): Promise<number> {
  const { lockPermits, takeBackPermits: takeBack } = statementsFor(loss);
  const locked = await q.rows(lockPermits, {});
  if (locked.length === 0) return 0;
  return q.run(takeBack, { machines: locked.map((row) => row.machine_id) });
}
