import { roleNamed } from '../../../../domain/access.ts';
import type { ApiToken, TokenBook } from '../../access-port.ts';
import type { Database } from '../pool.ts';
import { repeatedOnce } from '../repeat.ts';
import { ms } from '../sql.ts';
import { statement, type RowOf } from '../statement.ts';

const SHOWN = {
  id: 'text',
  name: 'text',
  owner: 'text',
  owner_identity: 'text?',
  role: 'text',
  providers: 'text[]?',
  created_ms: 'float8',
  expires_ms: 'float8',
  used_ms: 'float8?',
  revoked_ms: 'float8?',
  revoked_by: 'text?',
} as const;
const COLUMNS = `t.id, t.name, t.owner, t.owner_identity, t.role, t.providers,
  ${ms('t.created_at')} AS created_ms, ${ms('t.expires_at')} AS expires_ms, ${ms('t.last_used_at')} AS used_ms,
  ${ms('t.revoked_at')} AS revoked_ms, t.revoked_by`;

export const statements = {
  /** Made by the attempt before, of which the answer was lost, it counts as added. */
  add: statement({
    name: 'token-add',
    params: {
      ...{ id: 'text', digest: 'bytea', name: 'text', owner: 'text', role: 'text' },
      ...{ ownerIdentity: 'text?', providers: 'text[]?', forMs: 'float8' },
    },
    columns: { id: 'text' },
    text: ({ id, digest, name, owner, ownerIdentity, role, providers, forMs }) => `
      WITH added AS (
        INSERT INTO api_tokens
          (id, digest, name, owner, owner_identity, role, providers, expires_at)
        VALUES (${id}, ${digest}, ${name}, ${owner}, ${ownerIdentity}, ${role}, ${providers},
          now() + ${forMs} * interval '1 millisecond')
        ON CONFLICT DO NOTHING RETURNING id
      )
      SELECT id FROM added
      UNION SELECT t.id FROM api_tokens t WHERE t.id = ${id} AND t.digest = ${digest}`,
  }),
  find: statement({
    name: 'token-find',
    params: { id: 'text', digest: 'bytea' },
    columns: SHOWN,
    text: ({ id, digest }) =>
      `SELECT ${COLUMNS} FROM api_tokens t WHERE t.id = ${id} AND t.digest = ${digest}
         AND t.revoked_at IS NULL AND t.expires_at > now()`,
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
    const { id, digest, name, owner, ownerIdentity = null, role, providers, forMs } = token;
    const args = { id, digest, name, owner, ownerIdentity, role, providers, forMs };
    const doing = `add token ${name}`;
    return (await repeatedOnce(() => db.commit({ doing }, statements.add, args))).length > 0;
  },
  find: async (id, digest, signal) => {
    const doing = 'look up a token';
    const [row] = await db.transact({ doing, isolation: 'READ COMMITTED', signal }, (q) =>
      q.rows(statements.find, { id, digest }),
    );
    return row ? tokenOf(row) : null;
  },
  used: async (id) => {
    await db.once({ doing: `note that token ${id} was used` }, statements.used, { id });
  },
  list: async (signal) => {
    const doing = 'list tokens';
    const rows = await db.transact({ doing, isolation: 'READ COMMITTED', signal }, (q) =>
      q.rows(statements.list, {}),
    );
    return rows.map(tokenOf);
  },
  revoke: async (id, by) => {
    const doing = `revoke token ${id}`;
    const run = () => db.commit({ doing }, statements.revoke, { id, by });
    return (await repeatedOnce(run)).length > 0;
  },
});

const tokenOf = (row: RowOf<typeof SHOWN>): ApiToken => ({
  id: row.id,
  name: row.name,
  owner: row.owner,
  ownerIdentity: row.owner_identity,
  role: roleNamed(row.role),
  providers: row.providers,
  createdAtMs: row.created_ms,
  expiresAtMs: row.expires_ms,
  lastUsedAtMs: row.used_ms,
  revokedAtMs: row.revoked_ms,
  revokedBy: row.revoked_by,
});
