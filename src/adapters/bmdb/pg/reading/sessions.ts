import { sessionId } from '../../../../domain/ids.ts';
import type { SessionLine, SessionsReading } from '../../port.ts';
import type { Queries } from '../pool.ts';
import { ms } from '../sql.ts';
import { statement } from '../statement.ts';

const ENDED_MAX = 200;

const COLUMNS = {
  session_id: 'uuid',
  component: 'text',
  runtime: 'text',
  started: 'float8',
  deadline: 'float8?',
  ended: 'float8?',
  version: 'text?',
  schema_version: 'text?',
  roles: 'text[]?',
  console_url: 'text?',
  log_level: 'text?',
} as const;
const SAID = (of: string) =>
  `${of}.version, ${of}.schema_version, ${of}.roles, ${of}.console_url, ${of}.log_level`;

export const statements = {
  all: statement({
    name: 'sessions-inspect',
    params: { limit: 'int8' },
    columns: COLUMNS,
    text: ({ limit }) => `
      SELECT s.session_id, s.session_component_name AS component,
        s.session_runtime_info AS runtime, ${ms('s.session_created_at')} AS started,
        CASE WHEN s.session_deadline > now() THEN ${ms('s.session_deadline')} END AS deadline,
        CASE WHEN s.session_deadline <= now() THEN ${ms('s.session_deadline')} END AS ended,
        ${SAID('s')}
      FROM sessions s
      UNION ALL
      (SELECT e.session_id, e.session_component_name, e.session_runtime_info,
        ${ms('e.session_created_at')}, NULL, ${ms('e.ended_at')}, ${SAID('e')}
      FROM ended_sessions e WHERE e.ended_at >= now() - interval '1 day'
      ORDER BY e.ended_at DESC LIMIT ${limit})`,
  }),
  /** There is no index of work by session: claims would pay for it. So few ask this, and seldom. */
  work: statement({
    name: 'sessions-work',
    params: {},
    columns: { session_id: 'uuid', process: 'process', machines: 'int8' },
    text: () => `
      SELECT w.session_id, w.process, count(*) AS machines FROM work w
      WHERE w.session_id IS NOT NULL GROUP BY w.session_id, w.process
      ORDER BY w.session_id, w.process`,
  }),
  now: statement({
    name: 'sessions-now',
    params: {},
    columns: { now: 'float8' },
    text: () => `SELECT ${ms('now()')} AS now`,
  }),
};

/** See `BmdbInspection.sessions`. */
export async function readSessions(q: Queries): Promise<SessionsReading> {
  const rows = await q.rows(statements.all, { limit: ENDED_MAX });
  const [moment] = await q.rows(statements.now, {});
  const work = await q.rows(statements.work, {});
  const sessions = rows.map(({ roles, ...row }): SessionLine => ({
    sessionId: sessionId(row.session_id),
    component: row.component,
    runtimeInfo: row.runtime,
    startedAtMs: row.started,
    deadlineAtMs: row.deadline,
    endedAtMs: row.ended,
    about: {
      version: row.version,
      schema: row.schema_version,
      roles,
      consoleUrl: row.console_url,
      logLevel: row.log_level,
    },
    work: work
      .filter((each) => each.session_id === row.session_id && row.deadline !== null)
      .map(({ process, machines }) => ({ process, machines: Number(machines) })),
  }));
  return { atMs: moment!.now, sessions: sessions.toSorted(inOrder) };
}

/** The living before the dead; of them the oldest first, of the dead the latest. */
export function inOrder(a: SessionLine, b: SessionLine): number {
  if (a.endedAtMs !== null && b.endedAtMs !== null) return b.endedAtMs - a.endedAtMs;
  if (a.endedAtMs === null && b.endedAtMs === null) return a.startedAtMs - b.startedAtMs;
  return a.endedAtMs === null ? -1 : 1;
}
