import type { Cursor, MachineId } from '../../../../domain/ids.ts';
import type { BmdbChanges } from '../../port.ts';
import { SNAPSHOT } from '../pool.ts';
import type { Database } from '../pool.ts';
import { readMachines } from './rows.ts';
import { type As, statement } from '../statement.ts';
import { SURROUNDINGS_COLUMNS, SURROUNDINGS_SQL, toSurroundings } from './surroundings.ts';

/**
 * A cursor is `<era> <xmin>` of the snapshot that was read. Every transaction below xmin had ended
 * then, so its writes were read. Every transaction still running, or started later, has an id from
 * xmin on. So no change is ever missed, and a few are read twice.
 *
 * While a writing transaction stays open, in any database of the server, xmin stays at it. Each
 * read then returns all machines that changed since it began. That is correct, only more work: a
 * read costs at most a scan of these machines. Pauses are as long as reads, so reads take at most
 * half of the time.
 */
export const statements = {
  /**
   * One statement, which is its own snapshot: while nothing changes, nothing else is sent. `covers`
   * true: all lines since the cursor still exist. A cursor from the future belongs to another
   * server, whose era came here in a dump: on one server xmin never goes back.
   */
  changes: statement({
    name: 'changes',
    params: { era: 'uuid', xid: 'text' },
    columns: {
      covers: 'bool?',
      changed: 'uuid[]' as As<'uuid[]', MachineId[]>,
      ...SURROUNDINGS_COLUMNS,
    },
    text: ({ era, xid }) => `
      SELECT (SELECT f.era = ${era} AND f.trimmed_xid < (${xid})::xid8
          AND (${xid})::xid8 <= pg_snapshot_xmin(pg_current_snapshot()) FROM change_feed f)
          AS covers,
        ARRAY(SELECT DISTINCT c.machine_id FROM machine_changes c WHERE c.xid >= (${xid})::xid8)
          AS changed,
        ${SURROUNDINGS_SQL}`,
  }),
  /**
   * The first reader after the feed was emptied begins an era, and has no cursor yet itself. The
   * first reader after a restore of another server's feed does the same.
   */
  beginEra: statement({
    name: 'begin-era',
    text: () => `
      WITH foreign_era AS (
        UPDATE change_feed f SET era = DEFAULT, trimmed_xid = DEFAULT
        WHERE f.trimmed_xid >= pg_snapshot_xmax(pg_current_snapshot())
      )
      INSERT INTO change_feed DEFAULT VALUES ON CONFLICT DO NOTHING`,
  }),
  /**
   * Removes at most `limit` lines of transactions that began at least 5 min ago, oldest first. Part
   * of the housekeeping; does not affect readers with a younger cursor.
   */
  trimChanges: statement({
    name: 'trim-changes',
    params: { limit: 'int8' },
    text: ({ limit }) => `
      WITH oldest AS (
        SELECT c.ctid, c.at FROM machine_changes c
        WHERE c.xid < pg_snapshot_xmin(pg_current_snapshot()) ORDER BY c.xid LIMIT ${limit}
      ), gone AS (
        DELETE FROM machine_changes c USING oldest o
        WHERE c.ctid = o.ctid AND o.at < now() - interval '5 minutes' RETURNING c.xid
      )
      UPDATE change_feed f SET trimmed_xid = newest.xid
      FROM (SELECT max(gone.xid) AS xid FROM gone) newest WHERE newest.xid > f.trimmed_xid`,
  }),
};

/**
 * See `Bmdb.changesSince`. Rows of changed machines must come from the same snapshot as everything
 * else, so if any changed, everything is read again within one transaction.
 */
export async function readChanges(
  db: Database,
  since: Cursor,
  signal: AbortSignal,
): Promise<BmdbChanges | null> {
  const doing = 'read what changed';
  const [era = '', xid = ''] = since.split(' ');
  const [now] = await db.once({ doing }, statements.changes, { era, xid });
  const { covers, changed, ...around } = now!;
  if (!covers) return null;
  if (changed.length === 0) return { ...toSurroundings(around), machines: [], gone: [] };
  return db.transact({ doing, isolation: SNAPSHOT, signal }, async (q) => {
    const [found] = await q.rows(statements.changes, { era, xid });
    const { covers: isTold, changed: ids, ...then } = found!;
    if (!isTold) return null;
    const machines = await readMachines(q, ids);
    const there = new Set(machines.map((row) => row.machineId));
    return { ...toSurroundings(then), machines, gone: ids.filter((id) => !there.has(id)) };
  });
}
