import type { ListingRepository } from '../../port.ts';
import type { Database } from '../pool.ts';
import { LIVE, ms } from '../sql.ts';
import { selection, named, statement } from '../statement.ts';

/** Whether the session of a row `l` is alive. */
const ALIVE = `EXISTS (SELECT 1 FROM sessions s WHERE s.session_id = l.session_id AND ${LIVE})`;

const UNLISTED = selection({
  provider: ['provider', 'l.provider'],
  sessionId: ['session', 'l.session_id'],
  sinceMs: ['float8', ms('l.failing_since')],
  cause: ['text', 'l.cause'],
});

export const statements = named('listing', {
  /** Continues the failure series of daemons that are dead now. */
  failed: statement({
    params: { provider: 'text', session: 'uuid', cause: 'text' },
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
    params: { provider: 'text', session: 'uuid' },
    text: ({ provider, session }) =>
      `DELETE FROM provider_listings l WHERE l.provider = ${provider}
         AND (l.session_id = ${session} OR NOT ${ALIVE})`,
  }),
  unlisted: statement({
    columns: UNLISTED.columns,
    text: () =>
      `SELECT ${UNLISTED.sql}
       FROM provider_listings l WHERE ${ALIVE}
       ORDER BY l.provider, l.failing_since, l.session_id`,
  }),
});

/** See `ListingRepository`. All calls are idempotent, so a lost COMMIT does no harm. */
export const createListingRepository = (db: Database): ListingRepository => ({
  failed: async ({ provider, sessionId: session, cause }) => {
    const doing = `record that provider ${provider} cannot be listed`;
    await db.write(doing, statements.failed, { provider, session, cause });
  },
  succeeded: async (provider, session) => {
    const doing = `record that provider ${provider} can be listed`;
    await db.write(doing, statements.succeeded, { provider, session });
  },
  unlisted: (signal) =>
    db.once({ doing: 'read which providers cannot be listed', signal }, statements.unlisted, {}),
});
