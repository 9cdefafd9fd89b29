import { SessionExpired } from '../../../../domain/errors.ts';
import { requireJobName } from '../../preconditions.ts';
import { commitFenced, declareDead, liveSession, requireInTime } from '../live.ts';
import type { LiveSession } from '../live.ts';
import { repeatedOnce } from '../repeat.ts';
import { LIVE } from '../sql.ts';
import { statement } from '../statement.ts';
import type { Lease } from '../../port.ts';

const isLive = (session: string): string =>
  `EXISTS (SELECT 1 FROM sessions s WHERE s.session_id = ${session} AND ${LIVE})`;

export const statements = {
  readLease: statement({
    name: 'lease-read',
    params: { name: 'text', session: 'uuid' },
    /** Null if nobody has had the job. */
    columns: { alive: 'bool', holder: 'uuid?', epoch: 'int8?', held: 'bool' },
    text: ({ name, session }) => `
      SELECT ${isLive(session)} AS alive, l.session_id AS holder, l.epoch,
        ${isLive('l.session_id')} AS held
      FROM (SELECT) AS always LEFT JOIN leases l ON l.name = ${name}`,
  }),
  /** Waits for a session that is taking the job for the first time. */
  firstLease: statement({
    name: 'lease-first',
    params: { name: 'text', session: 'uuid' },
    columns: { epoch: 'int8' },
    text: ({ name, session }) => `
      WITH me AS MATERIALIZED (${liveSession(session)})
      INSERT INTO leases (name, session_id, epoch)
      SELECT ${name}, me.session_id, nextval('work_epoch') FROM me
      ON CONFLICT DO NOTHING RETURNING epoch`,
  }),
  /**
   * Takes over from a holder that is dead or gone. A dead session is locked first; a session that
   * is being extended at this moment is skipped. Waits for the last writes of the old holder. If
   * another session took the job meanwhile, the epoch differs, which is checked again under the row
   * lock.
   */
  inheritLease: statement({
    name: 'lease-inherit',
    params: { name: 'text', session: 'uuid', holder: 'uuid', from: 'int8' },
    columns: { epoch: 'int8' },
    text: ({ name, session, holder, from }) => `
      WITH me AS MATERIALIZED (${liveSession(session)}),
      dead AS MATERIALIZED (
        SELECT s.session_id FROM sessions s WHERE s.session_id = ${holder} AND NOT ${LIVE}
        FOR NO KEY UPDATE SKIP LOCKED
      )
      UPDATE leases SET session_id = me.session_id, epoch = nextval('work_epoch') FROM me
      WHERE name = ${name} AND epoch = ${from} AND (EXISTS (SELECT 1 FROM dead)
        OR NOT EXISTS (SELECT 1 FROM sessions s WHERE s.session_id = ${holder}))
      RETURNING epoch`,
  }),
  /** For a live session; the lease of a dead one is inherited as it is. */
  releaseLease: statement({
    name: 'lease-release',
    params: { name: 'text', session: 'uuid', epoch: 'int8' },
    text: ({ name, session, epoch }) => `
      WITH me AS MATERIALIZED (${liveSession(session)})
      DELETE FROM leases USING me
      WHERE name = ${name} AND leases.session_id = me.session_id AND epoch = ${epoch}`,
  }),
};

/** See `BmdbSession.lease`. Taking a job twice keeps it, so a lost answer does no harm. */
export async function takeLease(session: LiveSession, name: string): Promise<Lease | null> {
  requireJobName(name);
  const epoch = await repeatedOnce(() => take(session, name));
  if (epoch === null) return null;
  return { name, epoch, release: () => release(session, name, epoch) };
}

/** Number of attempts; after that another session that is always faster may have the job. */
const ATTEMPTS_MAX = 10;

async function take(session: LiveSession, name: string): Promise<string | null> {
  const call = { doing: `take the job ${name}` };
  const names = { name, session: session.sessionId };
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
    const [found] = await commitFenced(session, call, [statements.readLease, names]);
    const { alive, holder, epoch, held } = found!;
    if (!alive) throw declareDead(session, call.doing);
    requireInTime(session, call.doing);
    if (holder === session.sessionId) return epoch;
    if (held) return null;
    const [taken] =
      holder === null
        ? await commitFenced(session, call, [statements.firstLease, names])
        : await commitFenced(session, call, [
            statements.inheritLease,
            { ...names, holder, from: epoch! },
          ]);
    requireInTime(session, call.doing);
    if (taken) return taken.epoch;
  }
  return null;
}

/** A dead session holds nothing to release. */
async function release(session: LiveSession, name: string, epoch: string): Promise<void> {
  const call = { doing: `release the job ${name}` };
  const args = { name, session: session.sessionId, epoch };
  try {
    await repeatedOnce(() => commitFenced(session, call, [statements.releaseLease, args]));
  } catch (error) {
    if (!(error instanceof SessionExpired)) throw error;
  }
}
