import { LOGIN_CODE_MS, roleNamed } from '../../../../domain/access.ts';
import type { AccessBook, LoginCodeBook } from '../../access-port.ts';
import type { Database } from '../pool.ts';
import { statement } from '../statement.ts';
import { createConsoleSessionBook } from './console-sessions.ts';
import { createTokenBook } from './tokens.ts';

export const statements = {
  add: statement({
    name: 'login-code-add',
    params: {
      ...{ digest: 'bytea', name: 'text', role: 'text', providers: 'text[]?' },
      ...{ identity: 'text?', tokenId: 'text?', forMs: 'float8' },
    },
    columns: {},
    text: ({ digest, name, identity, role, providers, tokenId, forMs }) => `
      WITH over AS (DELETE FROM login_codes c WHERE c.expires_at <= now())
      INSERT INTO login_codes (digest, name, identity, role, providers, token_id, expires_at)
      VALUES (${digest}, ${name}, ${identity}, ${role}, ${providers}, ${tokenId},
        now() + ${forMs} * interval '1 millisecond')
      ON CONFLICT DO NOTHING`,
  }),
  /** Deleting is what makes it good for once. */
  redeem: statement({
    name: 'login-code-redeem',
    params: { digest: 'bytea' },
    columns: {
      ...{ name: 'text', identity: 'text?', role: 'text', providers: 'text[]?' },
      ...{ token_id: 'text?', good: 'bool' },
    },
    text: ({ digest }) =>
      `DELETE FROM login_codes c WHERE c.digest = ${digest}
       RETURNING c.name, c.identity, c.role, c.providers, c.token_id, c.expires_at > now() AS good`,
  }),
};

/** See `LoginCodeBook`. A code whose redemption is in doubt is lost: a new link is soon made. */
const createLoginCodeBook = (db: Database): LoginCodeBook => ({
  add: async ({ digest, name, identity, role, providers, tokenId }) => {
    const args = { digest, name, identity, role, providers, tokenId, forMs: LOGIN_CODE_MS };
    await db.write('add a login code', statements.add, args);
  },
  redeem: async (digest) => {
    const doing = 'redeem a login code';
    const [row] = await db.commit({ doing }, statements.redeem, { digest });
    if (row?.good !== true) return null;
    const { name, identity, role, providers, token_id: tokenId } = row;
    return { name, identity, role: roleNamed(role), providers, tokenId };
  },
});

/** See `AccessBook`. */
export const createAccessBook = (db: Database): AccessBook => ({
  tokens: createTokenBook(db),
  sessions: createConsoleSessionBook(db),
  codes: createLoginCodeBook(db),
});
