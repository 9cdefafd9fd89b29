import { machineId } from '../../../../domain/ids.ts';
import type { MachineRow } from '../../../../domain/machine.ts';
import type { BmdbSnapshot, MachineReading } from '../../port.ts';
import {
  MACHINE,
  MACHINE_COLUMNS,
  MACHINE_TABLES,
  machineTables,
  toMachine,
} from './machine-row.ts';
import type { Queries } from '../pool.ts';
import { statement } from '../statement.ts';
import { MOMENT, MOMENT_COLUMNS, readSurroundings } from './surroundings.ts';

/** Machines of one page of a scan: what one answer of the server may hold without a pause. */
const PAGE = 5_000;
/** No machine has this id; every other one comes after it. */
const FIRST = '00000000-0000-0000-0000-000000000000';

export const statements = {
  machineMoment: statement({
    name: 'machine-moment',
    params: {},
    columns: MOMENT_COLUMNS,
    text: () => `SELECT ${MOMENT}`,
  }),
  machinesNamed: statement({
    name: 'machines-named',
    params: { ids: 'uuid[]' },
    columns: MACHINE_COLUMNS,
    text: ({ ids }) => `SELECT ${MACHINE} FROM ${MACHINE_TABLES} WHERE m.machine_id = ANY (${ids})`,
  }),
  machinesAfter: statement({
    name: 'machines-after',
    params: { after: 'uuid', limit: 'int8' },
    columns: MACHINE_COLUMNS,
    text: ({ after, limit }) =>
      `SELECT ${MACHINE} FROM ${machineTables(after)}
       WHERE m.machine_id > ${after} ORDER BY m.machine_id LIMIT ${limit}`,
  }),
};

/** Rows of those machines that exist, in no order; in pages, like a scan. */
export async function readMachines(q: Queries, ids: readonly string[]): Promise<MachineRow[]> {
  const found: MachineRow[] = [];
  for (let at = 0; at < ids.length; at += PAGE) {
    const rows = await q.rows(statements.machinesNamed, { ids: ids.slice(at, at + PAGE) });
    for (const row of rows) found.push(toMachine(row));
  }
  return found;
}

/** Rows of all machines, by id. The caller provides one snapshot for all pages. */
export async function readAllMachines(q: Queries, pageSize = PAGE): Promise<MachineRow[]> {
  const found: MachineRow[] = [];
  for (let after = FIRST; ;) {
    const rows = await q.rows(statements.machinesAfter, { after, limit: pageSize });
    for (const row of rows) found.push(toMachine(row));
    if (rows.length < pageSize) return found;
    after = rows.at(-1)!.machine_id;
  }
}

/** Everything the mirror needs; the caller provides one snapshot. */
export async function readSnapshot(q: Queries): Promise<BmdbSnapshot> {
  const surroundings = await readSurroundings(q);
  return { ...surroundings, machines: await readAllMachines(q) };
}

/** One machine; the caller provides one snapshot. */
export async function readMachine(q: Queries, id: string): Promise<MachineReading> {
  const [moment] = await q.rows(statements.machineMoment, {});
  const [row = null] = await readMachines(q, [machineId(id)]);
  return { nowMs: moment!.at, version: moment!.version, row };
}
