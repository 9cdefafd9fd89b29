import { machineId } from '../../../../domain/ids.ts';
import type { Cursor } from '../../../../domain/ids.ts';
import type { BmdbChanges } from '../../port.ts';
import type { Queries } from '../pool.ts';
import { readMachines } from './rows.ts';
import { statement } from '../statement.ts';
import { readSurroundings } from './surroundings.ts';

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
   * True: all lines since the cursor are still there. One from the future is of another server, whose
   * era came here in a dump: xmin never goes back on one.
   */
  feedCovers: statement({
    name: 'feed-covers',
    params: { era: 'uuid', xid: 'text' },
    columns: { covers: 'bool' },
    text: ({ era, xid }) => `
      SELECT f.era = ${era} AND f.trimmed_xid < (${xid})::xid8
        AND (${xid})::xid8 <= pg_snapshot_xmin(pg_current_snapshot()) AS covers
      FROM change_feed f`,
  }),
  changedSince: statement({
    name: 'changed-since',
    params: { xid: 'text' },
    columns: { machine_id: 'uuid' },
    text: ({ xid }) =>
      `SELECT DISTINCT c.machine_id FROM machine_changes c WHERE c.xid >= (${xid})::xid8`,
  }),
  /**
   * The first reader after the feed was emptied begins an era; it has none itself yet. So does the
   * first one after the feed of another server was restored: it tells of what is yet to come here.
   */
  beginEra: statement({
    name: 'begin-era',
    params: {},
    columns: {},
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
    columns: {},
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

/** See `Bmdb.changesSince`; the caller provides one snapshot. */
export async function readChanges(q: Queries, since: Cursor): Promise<BmdbChanges | null> {
  const [era = '', xid = ''] = since.split(' ');
  const [feed] = await q.rows(statements.feedCovers, { era, xid });
  if (!feed?.covers) return null;
  const surroundings = await readSurroundings(q);
  const changed = await q.rows(statements.changedSince, { xid });
  const ids = changed.map((row) => row.machine_id);
  const machines = await readMachines(q, ids);
  const there = new Set<string>(machines.map((row) => row.machineId));
  const gone = ids.filter((id) => !there.has(id)).map(machineId);
  return { ...surroundings, machines, gone };
}
