import { LOGIN_CODE_MS, type Role } from '../../../../domain/access.ts';
import type { AccessRepository, LoginCodeRepository } from '../../access-port.ts';
import type { Database } from '../pool.ts';
import { type As, selection, named, statement } from '../statement.ts';
import { createDeviceLoginRepository } from './device-logins.ts';
import { createConsoleSessionRepository } from './console-sessions.ts';
import { roleSql } from './lineage.ts';
import { createTokenRepository } from './tokens.ts';

const LOGIN = selection({
  name: ['text', 'c.name'],
  identity: ['text?', 'c.identity'],
  role: ['text' as As<'text', Role>, roleSql('c.role')],
  providers: ['text[]?', 'c.providers'],
  tokenId: ['text?', 'c.token_id'],
});

export const statements = named('login-code', {
  add: statement({
    params: {
      ...{ digest: 'bytea', name: 'text', role: 'text', providers: 'text[]?' },
      ...{ identity: 'text?', tokenId: 'text?', forMs: 'float8' },
    },
    text: ({ digest, name, identity, role, providers, tokenId, forMs }) => `
      WITH over AS (DELETE FROM login_codes c WHERE c.expires_at <= now())
      INSERT INTO login_codes (digest, name, identity, role, providers, token_id, expires_at)
      VALUES (${digest}, ${name}, ${identity}, ${role}, ${providers}, ${tokenId},
        now() + ${forMs} * interval '1 millisecond')
      ON CONFLICT DO NOTHING`,
  }),
  /** Deletion makes the code usable only once. */
  redeem: statement({
    params: { digest: 'bytea' },
    columns: { ...LOGIN.columns, good: 'bool' },
    text: ({ digest }) =>
      `DELETE FROM login_codes c WHERE c.digest = ${digest}
       RETURNING ${LOGIN.sql}, c.expires_at > now() AS good`,
  }),
});

/** See `LoginCodeRepository`. A code redeemed with an unknown outcome is lost: a new one is cheap. */
const createLoginCodeRepository = (db: Database): LoginCodeRepository => ({
  add: async (code) => {
    await db.write('add a login code', statements.add, { ...code, forMs: LOGIN_CODE_MS });
  },
  redeem: async (digest) => {
    const [row] = await db.commit({ doing: 'redeem a login code' }, statements.redeem, { digest });
    if (row?.good !== true) return null;
    const { good: _, ...login } = row;
    return login;
  },
});

/** See `AccessRepository`. */
export const createAccessRepository = (db: Database): AccessRepository => ({
  tokens: createTokenRepository(db),
  sessions: createConsoleSessionRepository(db),
  codes: createLoginCodeRepository(db),
  devices: createDeviceLoginRepository(db),
});
