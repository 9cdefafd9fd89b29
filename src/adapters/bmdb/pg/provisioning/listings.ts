import { providerName, sessionId as sessionIdOf } from '../../../../domain/ids.ts';
import type { ListingBook } from '../../port.ts';
import type { Database } from '../pool.ts';
import { LIVE, ms } from '../sql.ts';
import { statement } from '../statement.ts';

/** Whether the session of a row `l` lives. */
const ALIVE = `EXISTS (SELECT 1 FROM sessions s WHERE s.session_id = l.session_id AND ${LIVE})`;

export const statements = {
  /** Goes on where daemons stopped that are dead. */
  failed: statement({
    name: 'listing-failed',
    params: { provider: 'text', session: 'uuid', cause: 'text' },
    columns: {},
    text: ({ provider, session, cause }) => `
      WITH dead AS (
        DELETE FROM provider_listings l WHERE l.provider = ${provider}
          AND l.session_id <> ${session} AND NOT ${ALIVE}
        RETURNING l.failing_since
      )
      INSERT INTO provider_listings (provider, session_id, failing_since, cause)
      SELECT ${provider}, ${session}, coalesce((SELECT min(failing_since) FROM dead), now()), ${cause}
      ON CONFLICT (provider, session_id) DO UPDATE SET cause = excluded.cause`,
  }),
  succeeded: statement({
    name: 'listing-succeeded',
    params: { provider: 'text', session: 'uuid' },
    columns: {},
    text: ({ provider, session }) =>
      `DELETE FROM provider_listings l WHERE l.provider = ${provider}
         AND (l.session_id = ${session} OR NOT ${ALIVE})`,
  }),
  unlisted: statement({
    name: 'listing-unlisted',
    params: {},
    columns: { provider: 'text', session_id: 'uuid', since: 'float8', cause: 'text' },
    text: () =>
      `SELECT l.provider, l.session_id, ${ms('l.failing_since')} AS since, l.cause
       FROM provider_listings l WHERE ${ALIVE}
       ORDER BY l.provider, l.failing_since, l.session_id`,
  }),
};

/** See `ListingBook`. All may safely be done twice, so a lost COMMIT is no trouble. */
export const createListingBook = (db: Database): ListingBook => ({
  failed: async ({ provider, sessionId: session, cause }) => {
    const doing = `note that provider ${provider} cannot be listed`;
    await db.write(doing, statements.failed, { provider, session, cause });
  },
  succeeded: async (provider, session) => {
    const doing = `note that provider ${provider} can be listed`;
    await db.write(doing, statements.succeeded, { provider, session });
  },
  unlisted: async (signal) => {
    const doing = 'read which providers cannot be listed';
    const rows = await db.once({ doing, signal }, statements.unlisted, {});
    return rows.map(({ provider, session_id: session, since: sinceMs, cause }) => ({
      provider: providerName(provider),
      sessionId: sessionIdOf(session),
      sinceMs,
      cause,
    }));
  },
});
