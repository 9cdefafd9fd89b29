import { GRANT_MS, GRANT_RETRY_MS, type Role } from '../../../../domain/access.ts';
import type { ConsoleSessionRepository } from '../../access-port.ts';
import type { Database } from '../pool.ts';
import { ms } from '../sql.ts';
import { type As, selection, named, statement } from '../statement.ts';
import { after, endOf, roleSql, SESSION_LASTS, SESSION_ORIGINS } from './lineage.ts';

const SHOWN = selection({
  id: ['uuid', 's.id'],
  name: ['text', 's.name'],
  identity: ['text?', 's.identity'],
  origins: ['text[]', `coalesce(${SESSION_ORIGINS}, '{}')`],
  proven: ['bool', 's.proven'],
  role: ['text' as As<'text', Role>, roleSql('s.role')],
  providers: ['text[]?', 's.providers'],
  openedAtMs: ['float8', ms('s.opened_at')],
  lastUsedAtMs: ['float8', ms('s.last_used_at')],
  endsAtMs: ['float8', ms(endOf('s'))],
  grantAgeMs: ['float8', `${ms('now()')} - ${ms('s.granted_at')}`],
  renewal: ['bytea?', 's.renewal'],
  pageDigest: ['bytea?', 's.page_digest'],
});

export const statements = named('console-session', {
  open: statement({
    params: {
      ...{ id: 'uuid', digest: 'bytea', name: 'text', proven: 'bool', role: 'text' },
      ...{ providers: 'text[]?', renewal: 'bytea?', tokenId: 'text?', identity: 'text?' },
      pageDigest: 'bytea?',
    },
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
    params: { digest: 'bytea' },
    columns: SHOWN.columns,
    text: ({ digest }) =>
      `SELECT ${SHOWN.sql} FROM console_sessions s WHERE s.digest = ${digest} AND ${SESSION_LASTS}`,
  }),
  used: statement({
    params: {
      ...{ digest: 'bytea', granted: 'bool', role: 'text?', providers: 'text[]?' },
      renewal: 'bytea?',
    },
    text: ({ digest, granted, role, providers, renewal }) =>
      `UPDATE console_sessions s SET last_used_at = now(),
         granted_at = CASE WHEN ${granted} THEN now() ELSE s.granted_at END,
         role = CASE WHEN ${granted} THEN ${role} ELSE s.role END,
         providers = CASE WHEN ${granted} THEN ${providers} ELSE s.providers END,
         renewal = CASE WHEN ${granted} THEN ${renewal} ELSE s.renewal END
       WHERE s.digest = ${digest} AND ${SESSION_LASTS}`,
  }),
  claimRenewal: statement({
    params: { digest: 'bytea' },
    columns: SHOWN.columns,
    text: ({ digest }) =>
      `UPDATE console_sessions s SET asked_at = now()
       WHERE s.digest = ${digest} AND ${SESSION_LASTS} AND s.granted_at + ${after(GRANT_MS)} <= now()
         AND (s.asked_at IS NULL OR s.asked_at + ${after(GRANT_RETRY_MS)} <= now())
       RETURNING ${SHOWN.sql}`,
  }),
  list: statement({
    columns: SHOWN.columns,
    text: () =>
      `SELECT ${SHOWN.sql} FROM console_sessions s WHERE ${SESSION_LASTS}
       ORDER BY s.last_used_at DESC, s.id LIMIT 1000`,
  }),
  end: statement({
    params: { id: 'uuid' },
    columns: { name: 'text' },
    text: ({ id }) => `DELETE FROM console_sessions s WHERE s.id = ${id} RETURNING s.name`,
  }),
});

/** See `ConsoleSessionRepository`. */
export const createConsoleSessionRepository = (db: Database): ConsoleSessionRepository => ({
  open: async (session) => {
    await db.write('open a console session', statements.open, session);
  },
  find: async (digest, signal) => {
    const doing = 'look up a console session';
    return (await db.once({ doing, signal }, statements.find, { digest }))[0] ?? null;
  },
  used: async (digest, grant) => {
    const args = { ...grant, digest, granted: grant !== undefined };
    await db.once({ doing: 'record the use of a console session' }, statements.used, args);
  },
  claimRenewal: async (digest) => {
    const doing = 'claim the renewal of a console session';
    return (await db.write(doing, statements.claimRenewal, { digest }))[0] ?? null;
  },
  list: (signal) => db.once({ doing: 'list console sessions', signal }, statements.list, {}),
  end: async (id) =>
    (await db.write('end a console session', statements.end, { id }))[0]?.name ?? null,
});
