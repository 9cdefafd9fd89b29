import { GRANT_MS, GRANT_RETRY_MS, roleNamed } from '../../../../domain/access.ts';
import type { ConsoleSession, ConsoleSessionBook } from '../../access-port.ts';
import type { Database } from '../pool.ts';
import { ms } from '../sql.ts';
import { statement, type RowOf } from '../statement.ts';
import { after, endOf, SESSION_LASTS, SESSION_ORIGINS } from './lineage.ts';

const SHOWN = {
  id: 'uuid',
  name: 'text',
  identity: 'text?',
  origins: 'text[]?',
  proven: 'bool',
  role: 'text',
  providers: 'text[]?',
  opened_ms: 'float8',
  used_ms: 'float8',
  ends_ms: 'float8',
  grant_age_ms: 'float8',
  renewal: 'bytea?',
  page_digest: 'bytea?',
} as const;
const COLUMNS = `s.id, s.name, s.identity, ${SESSION_ORIGINS} AS origins, s.proven, s.role, s.providers,
  ${ms('s.opened_at')} AS opened_ms, ${ms('s.last_used_at')} AS used_ms, ${ms(endOf('s'))} AS ends_ms,
  ${ms('now()')} - ${ms('s.granted_at')} AS grant_age_ms, s.renewal, s.page_digest`;

export const statements = {
  open: statement({
    name: 'console-session-open',
    params: {
      ...{ id: 'uuid', digest: 'bytea', name: 'text', proven: 'bool', role: 'text' },
      ...{ providers: 'text[]?', renewal: 'bytea?', tokenId: 'text?', identity: 'text?' },
      pageDigest: 'bytea?',
    },
    columns: {},
    text: (session) => `
      WITH ended AS (DELETE FROM console_sessions s WHERE NOT (${SESSION_LASTS}))
      INSERT INTO console_sessions
        (id, digest, name, identity, proven, role, providers, renewal, token_id, page_digest)
      VALUES (${session.id}, ${session.digest}, ${session.name}, ${session.identity},
        ${session.proven}, ${session.role}, ${session.providers}, ${session.renewal},
        ${session.tokenId}, ${session.pageDigest})
      ON CONFLICT DO NOTHING`,
  }),
  find: statement({
    name: 'console-session-find',
    params: { digest: 'bytea' },
    columns: SHOWN,
    text: ({ digest }) =>
      `SELECT ${COLUMNS} FROM console_sessions s WHERE s.digest = ${digest} AND ${SESSION_LASTS}`,
  }),
  used: statement({
    name: 'console-session-used',
    params: {
      ...{ digest: 'bytea', granted: 'bool', role: 'text?', providers: 'text[]?' },
      renewal: 'bytea?',
    },
    columns: {},
    text: ({ digest, granted, role, providers, renewal }) =>
      `UPDATE console_sessions s SET last_used_at = now(),
         granted_at = CASE WHEN ${granted} THEN now() ELSE s.granted_at END,
         role = CASE WHEN ${granted} THEN ${role} ELSE s.role END,
         providers = CASE WHEN ${granted} THEN ${providers} ELSE s.providers END,
         renewal = CASE WHEN ${granted} THEN ${renewal} ELSE s.renewal END
       WHERE s.digest = ${digest} AND ${SESSION_LASTS}`,
  }),
  claimRenewal: statement({
    name: 'console-session-claim-renewal',
    params: { digest: 'bytea' },
    columns: SHOWN,
    text: ({ digest }) =>
      `UPDATE console_sessions s SET asked_at = now()
       WHERE s.digest = ${digest} AND ${SESSION_LASTS} AND s.granted_at + ${after(GRANT_MS)} <= now()
         AND (s.asked_at IS NULL OR s.asked_at + ${after(GRANT_RETRY_MS)} <= now())
       RETURNING ${COLUMNS}`,
  }),
  list: statement({
    name: 'console-session-list',
    params: {},
    columns: SHOWN,
    text: () =>
      `SELECT ${COLUMNS} FROM console_sessions s WHERE ${SESSION_LASTS}
       ORDER BY s.last_used_at DESC, s.id LIMIT 1000`,
  }),
  end: statement({
    name: 'console-session-end',
    params: { id: 'uuid' },
    columns: { name: 'text' },
    text: ({ id }) => `DELETE FROM console_sessions s WHERE s.id = ${id} RETURNING s.name`,
  }),
};

/** See `ConsoleSessionBook`. */
export const createConsoleSessionBook = (db: Database): ConsoleSessionBook => ({
  open: async (session) => {
    const args = { pageDigest: null, ...session };
    const doing = 'open a session of the console';
    await db.write(doing, statements.open, args);
  },
  find: async (digest, signal) => {
    const doing = 'look up a session of the console';
    const [row] = await db.once({ doing, signal }, statements.find, { digest });
    return row ? sessionOf(row) : null;
  },
  used: async (digest, grant) => {
    const { role = null, providers = null, renewal = null } = grant ?? {};
    const args = { digest, granted: grant !== undefined, role, providers, renewal };
    await db.once({ doing: 'note that a session was used' }, statements.used, args);
  },
  claimRenewal: async (digest) => {
    const doing = 'claim the renewal of a session of the console';
    const [row] = await db.write(doing, statements.claimRenewal, { digest });
    return row ? sessionOf(row) : null;
  },
  list: async (signal) => {
    const doing = 'list sessions of the console';
    const rows = await db.once({ doing, signal }, statements.list, {});
    return rows.map(sessionOf);
  },
  end: async (id) => {
    const doing = 'end a session of the console';
    const [row] = await db.write(doing, statements.end, { id });
    return row?.name ?? null;
  },
});

const sessionOf = (row: RowOf<typeof SHOWN>): ConsoleSession => ({
  id: row.id,
  name: row.name,
  identity: row.identity,
  origins: row.origins ?? [],
  proven: row.proven,
  role: roleNamed(row.role),
  providers: row.providers,
  openedAtMs: row.opened_ms,
  lastUsedAtMs: row.used_ms,
  endsAtMs: row.ends_ms,
  grantAgeMs: row.grant_age_ms,
  renewal: row.renewal,
  pageDigest: row.page_digest,
});
