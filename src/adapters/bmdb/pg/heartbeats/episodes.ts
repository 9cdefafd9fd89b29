import type { LossPolicy } from '../../../../domain/policy.ts';
import { humanNeededNoMore } from '../../installation-events.ts';
import { writeEvents } from './agent-reports.ts';
import { unknownRungSql } from '../eligibility.ts';
import type { Beats } from './heartbeat-store.ts';
import type { Queries } from '../pool.ts';
import { LIVE } from '../sql.ts';
import { statement } from '../statement.ts';

/** Skips locked rows: no heartbeat waits, because the next can do the same. */
const lock = <const Table extends string>(table: Table) =>
  statement({
    name: `episodes-lock-${table}`,
    params: { machines: 'uuid[]' },
    columns: { machine_id: 'uuid' },
    text: ({ machines }) =>
      `SELECT machine_id FROM ${table} WHERE machine_id = ANY (${machines})
       ORDER BY machine_id FOR UPDATE SKIP LOCKED`,
  });

// Does nothing while somebody works on the machine: the end of that work decides. `count(*)` makes
// this a look-up for each machine; NOT EXISTS would be a join, which might scan all work.
const end = <const Table extends string>(table: Table, only = 'true', after = '') =>
  statement({
    name: `episodes-end-${table}`,
    params: { machines: 'uuid[]' },
    text: ({ machines }) =>
      `WITH gone AS (DELETE FROM ${table} x WHERE x.machine_id = ANY (${machines}) AND ${only} AND (
         SELECT count(*) FROM work w JOIN sessions s ON s.session_id = w.session_id AND ${LIVE}
         WHERE w.machine_id = x.machine_id) = 0 RETURNING x.machine_id)
       ${after || 'SELECT FROM gone'}`,
  });
const HEALED = `UPDATE recovery_episodes z SET healed_at = h.unbroken_since, ended_at = now()
  FROM gone JOIN machine_agent_heartbeat h ON h.machine_id = gone.machine_id
  WHERE z.machine_id = gone.machine_id AND z.ended_at IS NULL`;

/** Only if nothing else has parked the machine, or parks it for good. Nobody works on a parked machine. */
const endParking = statement({
  name: 'episodes-end-parking',
  params: { machines: 'uuid[]' },
  columns: { machine_id: 'uuid' },
  text: ({ machines }) =>
    `DELETE FROM machine_quarantined WHERE machine_id = ANY (${machines}) AND kind = 'needsHuman'
       AND cause IS NULL
     RETURNING machine_id`,
});

export const statements = {
  lockParked: lock('machine_quarantined'),
  endParking,
  lockPermits: lock('recovery_permits'),
  returnPermits: end('recovery_permits'),
  lockLadders: lock('machine_recovery'),
  /** Keeps rows with a rung that only a newer program knows. */
  forgetLadders: end('machine_recovery', `${unknownRungSql('x')} IS NOT TRUE`, HEALED),
};

/**
 * Ends recovery where heartbeats have proved the machine well: returns permits, forgets the ladder,
 * and releases machines that waited for a human.
 */
export async function endEpisodes(q: Queries, beats: Beats, loss: LossPolicy): Promise<void> {
  const { lockPermits, returnPermits, lockLadders, forgetLadders } = statements;
  await endWith(q, lockPermits, returnPermits, machinesWith('permit', beats));
  await endWith(q, lockLadders, forgetLadders, machinesWith('ladder', beats));
  await endParkings(q, machinesWith('parked', beats), loss);
}

async function endParkings(
  q: Queries,
  machines: readonly string[],
  loss: LossPolicy,
): Promise<void> {
  if (machines.length === 0) return;
  const locked = await q.rows(statements.lockParked, { machines });
  if (locked.length === 0) return;
  const ended = await q.rows(endParking, { machines: locked.map((row) => row.machine_id) });
  await writeEvents(
    q,
    ended.map((row) => ({ machineId: row.machine_id, ...humanNeededNoMore(loss) })),
  );
}

function machinesWith(what: 'permit' | 'ladder' | 'parked', beats: Beats): string[] {
  const found: string[] = [];
  for (const [record, beat] of beats) if (beat[what]) found.push(record.machineId);
  return found;
}

/**
 * Locks first and then checks again. Work taken up before the lock is seen; work taken up later
 * waits for the rows and finds them gone.
 */
async function endWith(
  q: Queries,
  locking: (typeof statements)['lockPermits' | 'lockLadders'],
  ending: (typeof statements)['returnPermits' | 'forgetLadders'],
  machines: readonly string[],
): Promise<void> {
  if (machines.length === 0) return;
  const locked = await q.rows(locking, { machines });
  if (locked.length === 0) return;
  await q.run(ending, { machines: locked.map((row) => row.machine_id) });
}
