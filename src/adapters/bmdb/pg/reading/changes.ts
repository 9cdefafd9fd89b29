import type { Cursor, MachineId } from '../../../../domain/ids.ts';
import type { BmdbChanges } from '../../port.ts';
import { SNAPSHOT } from '../pool.ts';
import type { Database } from '../pool.ts';
import { readMachines } from './rows.ts';
import { type As, statement } from '../statement.ts';
import { SURROUNDINGS_COLUMNS, SURROUNDINGS_SQL, toSurroundings } from './surroundings.ts';

/**
 * A cursor is `<era> <xmin>`: of the snapshot that was read. Every transaction below xmin had ended
 * then, so what it wrote was read; whatever had not ended, and all that began later, has an id from
 * xmin on. So no change is ever missed, and a few are read twice.
 *
 * While a transaction stays open that wrote anything, in whatever database of the server, xmin stays
 * at it: each read then answers all machines that changed since it began, again and again. That is
 * right, only more work; a read costs at most what a scan of these machines costs, and as reads are
 * at least as far apart as they take, no more than half of the time.
 */
export const statements = {
  /**
   * One statement, which is a snapshot by itself: while nothing changes, nothing else is sent.
   * `covers` true: all lines since the cursor are still there. One from the future is of another
   * server, whose era came here in a dump: xmin never goes back on one.
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
   * The first reader after the feed was emptied begins an era; it has none itself yet. So does the
   * first one after the feed of another server was restored: it tells of what is yet to come here.
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
   * Removes lines of transactions that began 5 min ago or earlier, the oldest first; `limit` of them
   * at most. Part of the housekeeping; does nothing to readers whose cursor is younger.
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
 * See `Bmdb.changesSince`. Where machines changed, their rows must be of the same snapshot as all
 * else, so then everything is asked for again within one.
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
