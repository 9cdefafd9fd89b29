import type { HardwarePage, HardwareQuery } from '../../port.ts';
import { inspectField } from '../../reflection/fields.ts';
import type { MessageReader } from '../../reflection/messages.ts';
import type { Queries } from '../pool.ts';
import { FIRST } from '../sql.ts';
import { selection, statement } from '../statement.ts';

const PAGE_MAX = 100;
const COLUMN = { name: 'hardware_report_raw', type: 'bytea' };

const HARDWARE = selection({
  machineId: ['machine', 'r.machine_id'],
  provider: ['provider', 'p.provider'],
  providerId: ['text', 'p.provider_id'],
  location: ['text?', 'p.provider_location'],
  report: ['text', `encode(r.hardware_report_raw, 'hex')`],
});

export const statements = {
  hardwareAfter: statement({
    name: 'inspect-hardware',
    params: { after: 'uuid', limit: 'int8' },
    columns: HARDWARE.columns,
    text: ({ after, limit }) =>
      `SELECT ${HARDWARE.sql}
       FROM machine_provided p JOIN machine_hardware_report r USING (machine_id)
       WHERE r.machine_id > ${after} ORDER BY r.machine_id LIMIT ${limit}`,
  }),
};

/** See `BmdbInspection.hardware`. */
export async function readHardware(
  q: Pick<Queries, 'rows'>,
  { after, limit = PAGE_MAX }: HardwareQuery,
  messages: MessageReader,
): Promise<HardwarePage> {
  const size = Math.max(1, Math.min(limit, PAGE_MAX));
  // One extra row shows whether there are more.
  const rows = await q.rows(statements.hardwareAfter, { after: after ?? FIRST, limit: size + 1 });
  const machines = rows
    .slice(0, size)
    .map((row) => ({ ...row, report: inspectField(COLUMN, row.report, messages) }));
  return { machines, next: rows.length > size ? (machines.at(-1)?.machineId ?? null) : null };
}
