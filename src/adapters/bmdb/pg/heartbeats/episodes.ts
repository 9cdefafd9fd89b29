import type { LossPolicy } from '../../../../domain/policy.ts';
import { humanNeededNoMore } from '../../installation-events.ts';
import { writeEvents } from './agent-reports.ts';
import { unknownRungSql } from '../eligibility.ts';
import type { Beats } from './beats.ts';
import type { Queries } from '../pool.ts';
import { LIVE } from '../sql.ts';
import { statement } from '../statement.ts';

/** Rows that nobody else has locked: no heartbeat waits for them, as the next one can do the same. */
const lock = <const Table extends string>(table: Table) =>
  statement({
    name: `episodes-lock-${table}`,
    params: { machines: 'uuid[]' },
    columns: { machine_id: 'uuid' },
    text: ({ machines }) =>
      `SELECT machine_id FROM ${table} WHERE machine_id = ANY (${machines})
       ORDER BY machine_id FOR UPDATE SKIP LOCKED`,
  });

// Not while somebody works on it: then the end of that work decides. Counted, so that it is a look-up
// for each machine; NOT EXISTS is a join, which might read all work.
const end = <const Table extends string>(table: Table, only = 'true') =>
  statement({
    name: `episodes-end-${table}`,
    params: { machines: 'uuid[]' },
    text: ({ machines }) =>
      `DELETE FROM ${table} x WHERE x.machine_id = ANY (${machines}) AND ${only} AND (
         SELECT count(*) FROM work w JOIN sessions s ON s.session_id = w.session_id AND ${LIVE}
         WHERE w.machine_id = x.machine_id) = 0`,
  });

/** Where nothing else has parked it meanwhile. Nobody works on what is parked. */
const endParking = statement({
  name: 'episodes-end-parking',
  params: { machines: 'uuid[]' },
  columns: { machine_id: 'uuid' },
  text: ({ machines }) =>
    `DELETE FROM machine_quarantined WHERE machine_id = ANY (${machines}) AND kind = 'needsHuman'
     RETURNING machine_id`,
});

export const statements = {
  lockParked: lock('machine_quarantined'),
  endParking,
  lockPermits: lock('recovery_permits'),
  returnPermits: end('recovery_permits'),
  lockLadders: lock('machine_recovery'),
  /** But those that a newer program remembers in its own way. */
  forgetLadders: end('machine_recovery', `${unknownRungSql('x')} IS NOT TRUE`),
};

/**
 * Gives permits back, forgets the ladder and needs no human any more where heartbeats have shown that
 * it is over.
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
 * First locked, then looked at again: whoever took up work on the machine before the lock is seen,
 * and whoever does it afterwards waits for the rows and finds them gone.
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
