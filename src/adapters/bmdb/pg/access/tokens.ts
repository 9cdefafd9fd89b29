import { roleNamed } from '../../../../domain/access.ts';
import type { ApiToken, TokenBook } from '../../access-port.ts';
import type { Database } from '../pool.ts';
import { ms } from '../sql.ts';
import { statement, type RowOf } from '../statement.ts';
import { endOfMaker, TOKEN_LASTS, TOKEN_ORIGINS } from './lineage.ts';

const SHOWN = {
  id: 'text',
  name: 'text',
  owner: 'text',
  owner_identity: 'text?',
  role: 'text',
  providers: 'text[]?',
  origins: 'text[]?',
  has_ended: 'bool',
  login_seal: 'bytea?',
  created_ms: 'float8',
  expires_ms: 'float8',
  used_ms: 'float8?',
  revoked_ms: 'float8?',
  revoked_by: 'text?',
} as const;
const COLUMNS = `t.id, t.name, t.owner, t.owner_identity, t.role, t.providers,
  ${TOKEN_ORIGINS} AS origins, NOT ${TOKEN_LASTS} AS has_ended, t.login_seal,
  ${ms('t.created_at')} AS created_ms, ${ms('t.expires_at')} AS expires_ms, ${ms('t.last_used_at')} AS used_ms,
  ${ms('t.revoked_at')} AS revoked_ms, t.revoked_by`;

export const statements = {
  /** Made by the attempt before, of which the answer was lost, it counts as added. */
  add: statement({
    name: 'token-add',
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
    name: 'token-find',
    params: { id: 'text', digest: 'bytea' },
    columns: SHOWN,
    text: ({ id, digest }) =>
      `SELECT ${COLUMNS} FROM api_tokens t WHERE t.id = ${id} AND t.digest = ${digest}
         AND ${TOKEN_LASTS}`,
  }),
  used: statement({
    name: 'token-used',
    params: { id: 'text' },
    columns: {},
    text: ({ id }) => `UPDATE api_tokens SET last_used_at = now() WHERE id = ${id}`,
  }),
  list: statement({
    name: 'token-list',
    params: {},
    columns: SHOWN,
    text: () => `SELECT ${COLUMNS} FROM api_tokens t ORDER BY t.created_at DESC, t.id LIMIT 1000`,
  }),
  revoke: statement({
    name: 'token-revoke',
    params: { id: 'text', by: 'text' },
    columns: { id: 'text' },
    text: ({ id, by }) =>
      `UPDATE api_tokens SET revoked_at = now(), revoked_by = ${by}
       WHERE id = ${id} AND revoked_at IS NULL RETURNING id`,
  }),
};

/** See `TokenBook`. */
export const createTokenBook = (db: Database): TokenBook => ({
  add: async (token) => {
    const without = { ownerIdentity: null, parentTokenId: null, parentSessionId: null };
    const args = { ...without, loginSeal: null, ...token };
    const doing = `add token ${token.name}`;
    const [row] = await db.write(doing, statements.add, args);
    return row?.expires_ms ?? null;
  },
  find: async (id, digest, signal) => {
    const doing = 'look up a token';
    const [row] = await db.once({ doing, signal }, statements.find, { id, digest });
    return row ? tokenOf(row) : null;
  },
  used: async (id) => {
    await db.once({ doing: `note that token ${id} was used` }, statements.used, { id });
  },
  list: async (signal) => {
    const doing = 'list tokens';
    const rows = await db.once({ doing, signal }, statements.list, {});
    return rows.map(tokenOf);
  },
  revoke: async (id, by) => {
    const doing = `revoke token ${id}`;
    return (await db.write(doing, statements.revoke, { id, by })).length > 0;
  },
});

const tokenOf = (row: RowOf<typeof SHOWN>): ApiToken => ({
  id: row.id,
  name: row.name,
  owner: row.owner,
  ownerIdentity: row.owner_identity,
  origins: row.origins ?? [],
  hasEnded: row.has_ended,
  loginSeal: row.login_seal,
  role: roleNamed(row.role),
  providers: row.providers,
  createdAtMs: row.created_ms,
  expiresAtMs: row.expires_ms,
  lastUsedAtMs: row.used_ms,
  revokedAtMs: row.revoked_ms,
  revokedBy: row.revoked_by,
});
