import type { DaemonAbout, SessionLine, SessionsReading } from '../../port.ts';
import type { Queries } from '../pool.ts';
import { ms } from '../sql.ts';
import { type As, selection, named, statement } from '../statement.ts';

const ENDED_MAX = 200;
type About = { readonly [Name in keyof DaemonAbout]: DaemonAbout[Name] | null };
/** Columns of a table of sessions; `deadline` and `ended` are expressions. */
const sessionOf = (s: string, deadline: string, ended: string) =>
  selection({
    sessionId: ['session', `${s}.session_id`],
    component: ['text', `${s}.session_component_name`],
    runtimeInfo: ['text', `${s}.session_runtime_info`],
    startedAtMs: ['float8', ms(`${s}.session_created_at`)],
    deadlineAtMs: ['float8?', deadline],
    endedAtMs: ['float8?', ended],
    about: [
      'jsonb' as As<'jsonb', About>,
      `jsonb_build_object('version', ${s}.version, 'schema', ${s}.schema_version,
        'roles', ${s}.roles, 'consoleUrl', ${s}.console_url, 'logLevel', ${s}.log_level)`,
    ],
  });
const END = ms('s.session_deadline');
const isLive = (live: string) => `CASE WHEN s.session_deadline ${live} now() THEN ${END} END`;
const OPEN = sessionOf('s', isLive('>'), isLive('<='));

export const statements = named('sessions', {
  all: statement({
    name: 'sessions-inspect',
    params: { limit: 'int8' },
    columns: OPEN.columns,
    text: ({ limit }) => `
      SELECT ${OPEN.sql} FROM sessions s
      UNION ALL
      (SELECT ${sessionOf('e', 'NULL', ms('e.ended_at')).sql}
      FROM ended_sessions e WHERE e.ended_at >= now() - interval '1 day'
      ORDER BY e.ended_at DESC LIMIT ${limit})`,
  }),
  /** Work has no index by session, because claims would pay for it. Keep this query rare. */
  work: statement({
    columns: { session_id: 'session', process: 'process', machines: 'float8' },
    text: () => `
      SELECT w.session_id, w.process, count(*)::float8 AS machines FROM work w
      WHERE w.session_id IS NOT NULL GROUP BY w.session_id, w.process
      ORDER BY w.session_id, w.process`,
  }),
  now: statement({ columns: { now: 'float8' }, text: () => `SELECT ${ms('now()')} AS now` }),
});

/** See `BmdbInspection.sessions`. */
export async function readSessions(q: Queries): Promise<SessionsReading> {
  const rows = await q.rows(statements.all, { limit: ENDED_MAX });
  const [moment] = await q.rows(statements.now, {});
  const work = await q.rows(statements.work, {});
  const sessions = rows.map((row): SessionLine => ({
    ...row,
    work: work
      .filter((each) => each.session_id === row.sessionId && row.deadlineAtMs !== null)
      .map(({ process, machines }) => ({ process, machines })),
  }));
  return { atMs: moment!.now, sessions: sessions.toSorted(inOrder) };
}

/** Live sessions first, oldest first; then ended ones, latest first. */
export function inOrder(a: SessionLine, b: SessionLine): number {
  if (a.endedAtMs !== null && b.endedAtMs !== null) return b.endedAtMs - a.endedAtMs;
  if (a.endedAtMs === null && b.endedAtMs === null) return a.startedAtMs - b.startedAtMs;
  return a.endedAtMs === null ? -1 : 1;
}
