import type { Role } from '../../../../domain/access.ts';
import type { TokenRepository } from '../../access-port.ts';
import type { Database } from '../pool.ts';
import { ms } from '../sql.ts';
import { type As, selection, named, statement } from '../statement.ts';
import { endOfMaker, roleSql, TOKEN_LASTS, TOKEN_ORIGINS } from './lineage.ts';

const SHOWN = selection({
  id: ['text', 't.id'],
  name: ['text', 't.name'],
  owner: ['text', 't.owner'],
  ownerIdentity: ['text?', 't.owner_identity'],
  role: ['text' as As<'text', Role>, roleSql('t.role')],
  providers: ['text[]?', 't.providers'],
  origins: ['text[]', `coalesce(${TOKEN_ORIGINS}, '{}')`],
  hasEnded: ['bool', `NOT ${TOKEN_LASTS}`],
  loginSeal: ['bytea?', 't.login_seal'],
  createdAtMs: ['float8', ms('t.created_at')],
  expiresAtMs: ['float8', ms('t.expires_at')],
  lastUsedAtMs: ['float8?', ms('t.last_used_at')],
  revokedAtMs: ['float8?', ms('t.revoked_at')],
  revokedBy: ['text?', 't.revoked_by'],
});

export const statements = named('token', {
  /** If an earlier attempt without an answer created the token, that counts as success. */
  add: statement({
    params: {
      ...{ id: 'text', digest: 'bytea', name: 'text', owner: 'text', role: 'text' },
      ...{ ownerIdentity: 'text?', providers: 'text[]?', forMs: 'float8' },
      ...{ parentTokenId: 'text?', parentSessionId: 'uuid?', loginSeal: 'bytea?' },
    },
    columns: { expires_ms: 'float8' },
    text: (token) => `
      WITH added AS (
        INSERT INTO api_tokens
          (id, digest, name, owner, owner_identity, role, providers, expires_at,
            parent_token_id, parent_session_id, login_seal)
        VALUES (${token.id}, ${token.digest}, ${token.name}, ${token.owner},
          ${token.ownerIdentity}, ${token.role}, ${token.providers},
          LEAST(now() + ${token.forMs} * interval '1 millisecond',
            ${endOfMaker(token.parentTokenId, token.parentSessionId)}),
          ${token.parentTokenId}, ${token.parentSessionId}, ${token.loginSeal})
        ON CONFLICT DO NOTHING RETURNING expires_at
      )
      SELECT ${ms('a.expires_at')} AS expires_ms FROM added a
      UNION SELECT ${ms('t.expires_at')} FROM api_tokens t
      WHERE t.id = ${token.id} AND t.digest = ${token.digest}`,
  }),
  find: statement({
    params: { id: 'text', digest: 'bytea' },
    columns: SHOWN.columns,
    text: ({ id, digest }) =>
      `SELECT ${SHOWN.sql} FROM api_tokens t WHERE t.id = ${id} AND t.digest = ${digest}
         AND ${TOKEN_LASTS}`,
  }),
  used: statement({
    params: { id: 'text' },
    text: ({ id }) => `UPDATE api_tokens SET last_used_at = now() WHERE id = ${id}`,
  }),
  list: statement({
    columns: SHOWN.columns,
    text: () => `SELECT ${SHOWN.sql} FROM api_tokens t ORDER BY t.created_at DESC, t.id LIMIT 1000`,
  }),
  revoke: statement({
    params: { id: 'text', by: 'text' },
    columns: { id: 'text' },
    text: ({ id, by }) =>
      `UPDATE api_tokens SET revoked_at = now(), revoked_by = ${by}
       WHERE id = ${id} AND revoked_at IS NULL RETURNING id`,
  }),
});

/** See `TokenRepository`. */
export const createTokenRepository = (db: Database): TokenRepository => ({
  add: async (token) =>
    (await db.write(`add token ${token.name}`, statements.add, token))[0]?.expires_ms ?? null,
  find: async (id, digest, signal) =>
    (await db.once({ doing: 'look up a token', signal }, statements.find, { id, digest }))[0] ??
    null,
  used: async (id) => {
    await db.once({ doing: `record the use of token ${id}` }, statements.used, { id });
  },
  list: (signal) => db.once({ doing: 'list tokens', signal }, statements.list, {}),
  revoke: async (id, by) =>
    (await db.write(`revoke token ${id}`, statements.revoke, { id, by })).length > 0,
});
