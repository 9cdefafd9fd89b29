import { LeaseLost, SessionExpired } from '../../../../domain/errors.ts';
import { requireJobName } from '../../preconditions.ts';
import { transactLive } from '../live.ts';
import type { LiveSession } from '../live.ts';
import type { Queries } from '../pool.ts';
import { repeatedOnce } from '../repeat.ts';
import { LIVE } from '../sql.ts';
import { statement } from '../statement.ts';
import type { Lease } from '../../port.ts';

export const statements = {
  readLease: statement({
    name: 'lease-read',
    params: { name: 'text' },
    columns: { session_id: 'uuid', epoch: 'int8', alive: 'bool' },
    text: ({ name }) => `
      SELECT l.session_id, l.epoch, EXISTS (SELECT 1 FROM sessions s
        WHERE s.session_id = l.session_id AND ${LIVE}) AS alive
      FROM leases l WHERE l.name = ${name}`,
  }),
  /** Waits for whoever is just taking the job for the first time. */
  firstLease: statement({
    name: 'lease-first',
    params: { name: 'text', session: 'uuid' },
    columns: { epoch: 'int8' },
    text: ({ name, session }) =>
      `INSERT INTO leases (name, session_id, epoch)
       VALUES (${name}, ${session}, nextval('work_epoch'))
       ON CONFLICT DO NOTHING RETURNING epoch`,
  }),
  /**
   * From a holder that is dead or gone. A dead session is locked first: one that is being extended
   * just now is passed over. Waits for what it still wrote as the holder; whoever took the job
   * meanwhile has another epoch, which is looked at again once the row is ours.
   */
  inheritLease: statement({
    name: 'lease-inherit',
    params: { name: 'text', session: 'uuid', holder: 'uuid', from: 'int8' },
    columns: { epoch: 'int8' },
    text: ({ name, session, holder, from }) => `
      WITH dead AS MATERIALIZED (
        SELECT s.session_id FROM sessions s WHERE s.session_id = ${holder} AND NOT ${LIVE}
        FOR NO KEY UPDATE SKIP LOCKED
      )
      UPDATE leases SET session_id = ${session}, epoch = nextval('work_epoch')
      WHERE name = ${name} AND epoch = ${from} AND (EXISTS (SELECT 1 FROM dead)
        OR NOT EXISTS (SELECT 1 FROM sessions s WHERE s.session_id = ${holder}))
      RETURNING epoch`,
  }),
  /** Nobody can take the job over before the transaction has ended. */
  lockLease: statement({
    name: 'lease-lock',
    params: { name: 'text', session: 'uuid', epoch: 'int8' },
    columns: { name: 'text' },
    text: ({ name, session, epoch }) =>
      `SELECT name FROM leases
       WHERE name = ${name} AND session_id = ${session} AND epoch = ${epoch} FOR SHARE`,
  }),
  releaseLease: statement({
    name: 'lease-release',
    params: { name: 'text', session: 'uuid', epoch: 'int8' },
    columns: {},
    text: ({ name, session, epoch }) =>
      `DELETE FROM leases
       WHERE name = ${name} AND session_id = ${session} AND epoch = ${epoch}`,
  }),
};

/** See `BmdbSession.lease`. Taking a job twice is keeping it, so a lost COMMIT is no trouble. */
export async function takeLease(session: LiveSession, name: string): Promise<Lease | null> {
  requireJobName(name);
  const options = { doing: `take the job ${name}`, isolation: 'READ COMMITTED' } as const;
  const epoch = await repeatedOnce(() =>
    transactLive(session, options, (q) => take(q, session, name)),
  );
  if (epoch === null) return null;
  return { name, epoch, release: () => release(session, name, epoch) };
}

/** Tries so often; whoever is faster each time may have the job. */
const ATTEMPTS_MAX = 10;

async function take(q: Queries, session: LiveSession, name: string): Promise<string | null> {
  const names = { name, session: session.sessionId };
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
    const [held] = await q.rows(statements.readLease, { name });
    if (held?.session_id === session.sessionId) return held.epoch;
    if (held?.alive) return null;
    const [taken] = held
      ? await q.rows(statements.inheritLease, {
          ...names,
          holder: held.session_id,
          from: held.epoch,
        })
      : await q.rows(statements.firstLease, names);
    if (taken) return taken.epoch;
  }
  return null;
}

/** A dead session holds nothing that could be released. */
async function release(session: LiveSession, name: string, epoch: string): Promise<void> {
  const options = { doing: `release the job ${name}`, isolation: 'READ COMMITTED' } as const;
  const args = { name, session: session.sessionId, epoch };
  try {
    await repeatedOnce(() =>
      transactLive(session, options, (q) => q.run(statements.releaseLease, args)),
    );
  } catch (error) {
    if (!(error instanceof SessionExpired)) throw error;
  }
}

/** Until the transaction has ended, the job is ours. @throws {LeaseLost} */
export async function requireLease(
  q: Queries,
  { sessionId: session }: LiveSession,
  { name, epoch }: Lease,
): Promise<void> {
  const found = await q.rows(statements.lockLease, { name, session, epoch });
  if (found.length === 0) throw new LeaseLost(`${name} (lease ${epoch}) is no longer ours`);
}
