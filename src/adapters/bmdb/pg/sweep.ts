import { cancelWork } from './cancel.ts';
import { refusalSql, FROM } from './eligibility.ts';
import type { PgContext } from './live.ts';
import type { Swept } from '../port.ts';

const BATCH = 100;

/** See `Bmdb.sweep`. Safe to run in several daemons at once. */
export async function sweep({ db, loss }: PgContext): Promise<Swept> {
  const swept = await db.transact({ doing: 'remove dead sessions' }, async (q) => {
    const dead = await q.rows<{ session_id: string }>(
      `SELECT session_id FROM sessions
       WHERE session_deadline < now() - 2 * session_interval_seconds * interval '1 second'
       ORDER BY session_deadline LIMIT ${BATCH} FOR UPDATE SKIP LOCKED`,
    );
    const ids = dead.map((row) => row.session_id);
    if (ids.length === 0) return { sessions: 0, work: 0 };
    const work = await cancelWork(q, 'session expired', 'w.session_id = ANY($2)', [ids]);
    await q.run(`DELETE FROM sessions WHERE session_id = ANY($1)`, [ids]);
    return { sessions: ids.length, work };
  });
  // Permits of machines that nobody works on and that no longer need recovery (parked, for one).
  const permits = await db.transact({ doing: 'take back permits' }, (q) =>
    q.run(
      `DELETE FROM recovery_permits WHERE granted_at < now() - interval '1 minute' AND machine_id IN
         (SELECT m.machine_id ${FROM} WHERE ${refusalSql('ShepherdRecovery', loss)} NOT IN
           ('it is being worked on', 'it waits after a failure', 'it cools down after an attempt'))`,
    ),
  );
  return { ...swept, permits };
}
