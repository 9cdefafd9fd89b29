import type { MachineId } from '../../../../domain/ids.ts';
import type { MachineRow } from '../../../../domain/machine.ts';
import type { BmdbSnapshot, KeepRow, MachineReading } from '../../port.ts';
import { MACHINE, MACHINE_COLUMNS, MACHINE_TABLES, toMachine } from './machine-row.ts';
import type { Database, Queries } from '../pool.ts';
import { statement } from '../statement.ts';
import { MOMENT, SURROUNDINGS_COLUMNS, SURROUNDINGS_SQL, toSurroundings } from './surroundings.ts';

/**
 * Machines per page of a scan. Other work runs between two pages, so a page must take no more than
 * a few milliseconds.
 */
const PAGE = 250;

export const statements = {
  /** Includes the snapshot's time; without any machine, returns one row with only that. */
  machinesNow: statement({
    name: 'machines-now',
    params: { ids: 'uuid[]' },
    columns: { ...MACHINE_COLUMNS, ...MOMENT.columns },
    text: ({ ids }) =>
      `SELECT r.*, ${MOMENT.sql} FROM (SELECT 1) AS one LEFT JOIN (
         SELECT ${MACHINE} FROM ${MACHINE_TABLES} WHERE m.machine_id = ANY (${ids})
       ) r ON true`,
  }),
  surroundings: statement({
    name: 'surroundings',
    columns: SURROUNDINGS_COLUMNS,
    text: () => `SELECT ${SURROUNDINGS_SQL}`,
  }),
  machinesNamed: statement({
    name: 'machines-named',
    params: { ids: 'uuid[]' },
    columns: MACHINE_COLUMNS,
    text: ({ ids }) => `SELECT ${MACHINE} FROM ${MACHINE_TABLES} WHERE m.machine_id = ANY (${ids})`,
  }),
  /**
   * Plans the scan of all machines once, for all pages of its transaction: planning each page would
   * take longer than reading it.
   */
  beginFleet: statement({
    name: 'fleet-begin',
    text: () =>
      `DECLARE fleet NO SCROLL CURSOR FOR
       SELECT ${MACHINE} FROM ${MACHINE_TABLES} ORDER BY m.machine_id`,
  }),
  nextOfFleet: statement({
    name: 'fleet-next',
    columns: MACHINE_COLUMNS,
    text: () => `FETCH ${PAGE} FROM fleet`,
  }),
  endFleet: statement({ name: 'fleet-end', text: () => 'CLOSE fleet' }),
};

/** Rows of those machines that exist, in no particular order; read in pages, like a scan. */
export async function readMachines(q: Queries, ids: readonly string[]): Promise<MachineRow[]> {
  const found: MachineRow[] = [];
  for (let at = 0; at < ids.length; at += PAGE) {
    const rows = await q.rows(statements.machinesNamed, { ids: ids.slice(at, at + PAGE) });
    for (const row of rows) found.push(toMachine(row));
  }
  return found;
}

/** Rows of all machines, by id. The caller provides a transaction. @param keep see `Bmdb.scan`. */
export async function readAllMachines(q: Queries, keep?: KeepRow): Promise<MachineRow[]> {
  const found: MachineRow[] = [];
  await q.run(statements.beginFleet, {});
  for (;;) {
    const page = await q.rows(statements.nextOfFleet, {});
    for (const row of page) {
      const machine = toMachine(row);
      found.push(keep ? keep(machine) : machine);
    }
    if (page.length < PAGE) break;
  }
  await q.run(statements.endFleet, {});
  return found;
}

/** Reads everything that the mirror needs, in the caller's snapshot. */
export async function readSnapshot(q: Queries, keep?: KeepRow): Promise<BmdbSnapshot> {
  const [row] = await q.rows(statements.surroundings, {});
  return { ...toSurroundings(row!), machines: await readAllMachines(q, keep) };
}

/** Current rows of machines, in the order of the ids. */
export async function readNow(db: Database, ids: readonly MachineId[]): Promise<MachineReading[]> {
  const doing = `read ${ids.length} machines`;
  const rows = await db.once({ doing }, statements.machinesNow, { ids });
  const { nowMs, version } = rows[0]!;
  const found = new Map(rows.map((row) => [row.machine_id, row]));
  return ids.map((id) => {
    const row = found.get(id);
    return { nowMs, version, row: row ? toMachine(row) : null };
  });
}
