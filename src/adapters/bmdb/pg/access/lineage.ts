import { GRANT_MAX_MS, ROLES, SESSION_IDLE_MS, SESSION_MAX_MS } from '../../../../domain/access.ts';
import { texts } from '../sql.ts';

export const after = (limitMs: number) => `interval '${limitMs / 1_000} seconds'`;

/** Latest possible end of session `s`. */
export const endOf = (s: string) => `${s}.opened_at + ${after(SESSION_MAX_MS)}`;

/** See `roleNamed`. */
export const roleSql = (role: string): string =>
  `CASE WHEN ${role} IN (${texts(ROLES)}) THEN ${role} ELSE 'viewer' END`;

const rankOf = (role: string) => `array_position(ARRAY[${texts(ROLES)}], ${role})`;

/**
 * Joins the one row that a row of `up` names. OFFSET forces a look-up by key for each row instead
 * of a scan of the whole table.
 */
const joined = (table: string, key: string, alias: string, columns: string) =>
  `LEFT JOIN LATERAL (SELECT ${columns} FROM ${table} x WHERE x.id = up.${key} OFFSET 0) ${alias}
    ON true`;
const SEEN = 'id, name, identity, role, providers, opened_at, last_used_at, granted_at';

/** SQL expressions over the row whose lineage is wanted; `NULL` where a part is missing. */
interface Leaf {
  readonly tokenId: string;
  readonly sessionId: string;
  readonly role: string;
  readonly providers: string;
}

/**
 * Query that returns one row about a token or session and its ancestors. The first ancestor is the
 * token or login that created it, and so on. `lasts`: all are valid, and each login among them
 * still has the rights of the leaf. `ends`: the earliest end of all. `origins`: identities of all
 * callers.
 */
const lineage = ({ tokenId, sessionId, role, providers }: Leaf) => `
  WITH RECURSIVE up (token_id, session_id) AS (
    SELECT ${tokenId}::text, ${sessionId}::uuid
    UNION
    SELECT coalesce(t0.parent_token_id, s0.token_id), t0.parent_session_id
    FROM up ${joined('api_tokens', 'token_id', 't0', 'parent_token_id, parent_session_id')}
      ${joined('console_sessions', 'session_id', 's0', 'token_id')}
    WHERE coalesce(up.token_id, up.session_id::text) IS NOT NULL
  )
  SELECT bool_and(CASE
      WHEN up.token_id IS NOT NULL
        THEN coalesce(t1.revoked_at IS NULL AND t1.expires_at > now(), false)
      ELSE coalesce(${endOf('s1')} > now() AND s1.last_used_at + ${after(SESSION_IDLE_MS)} > now()
        AND ${rankOf(role)} <= ${rankOf('s1.role')}
        AND (s1.providers IS NULL OR ${providers} <@ s1.providers), false)
    END) AS lasts,
    min(coalesce(t1.expires_at, ${endOf('s1')})) AS ends,
    array_agg(coalesce(t1.owner_identity, s1.identity))
      FILTER (WHERE coalesce(t1.owner_identity, s1.identity) IS NOT NULL) AS origins,
    coalesce(bool_or(s1.name LIKE 'oidc:%' AND s1.id IS DISTINCT FROM ${sessionId}
      AND s1.granted_at + ${after(GRANT_MAX_MS)} <= now()), false) AS is_stale
  FROM up ${joined('api_tokens', 'token_id', 't1', 'owner_identity, expires_at, revoked_at')}
    ${joined('console_sessions', 'session_id', 's1', SEEN)}
  WHERE coalesce(up.token_id, up.session_id::text) IS NOT NULL`;

const TOKEN = { tokenId: 't.id', sessionId: 'NULL', role: 't.role', providers: 't.providers' };
const SESSION = { tokenId: 'NULL', sessionId: 's.id', role: 's.role', providers: 's.providers' };

/** For token `t`. */
export const TOKEN_LASTS = `(SELECT l.lasts FROM (${lineage(TOKEN)}) l)`;
export const TOKEN_ORIGINS = `(SELECT l.origins FROM (${lineage(TOKEN)}) l)`;

/**
 * For session `s`. The role of an ancestor login cannot be checked again without its cookie. So its
 * role counts only as long as an unanswered check allows (`GRANT_MAX_MS`).
 */
export const SESSION_LASTS = `(SELECT l.lasts AND NOT l.is_stale FROM (${lineage(SESSION)}) l)`;
export const SESSION_ORIGINS = `(SELECT l.origins FROM (${lineage(SESSION)}) l)`;

/** When a token's parent ends; null if never. */
export const endOfMaker = (tokenId: string, sessionId: string) =>
  `(SELECT l.ends FROM (${lineage({ tokenId, sessionId, role: 'NULL', providers: 'NULL' })}) l)`;
