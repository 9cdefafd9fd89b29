import { sessionId } from '../../../../domain/ids.ts';
import type { SlotHistory, SlotHistoryQuery } from '../../port.ts';
import type { Queries } from '../pool.ts';
import { ms } from '../sql.ts';
import { statement } from '../statement.ts';

/** Whole microseconds: what pages are cut by, with the number of the line where they are equal. */
const micros = (column: string) => `round(date_part('epoch', ${column}) * 1e6)::int8`;

/** Raises the numbers of the log above those of work, which are from another sequence. */
const ABOVE_WORK = '4611686018427387904';

export const statements = {
  /** Which were on the slot, as far as its log tells; the latest first. */
  tenants: statement({
    name: 'slot-history-tenants',
    params: { provider: 'text', slot: 'text', limit: 'int8' },
    columns: { machine_id: 'uuid', first: 'float8', last: 'float8' },
    text: ({ provider, slot, limit }) => `
      SELECT e.machine_id, ${ms('min(e.at)')} AS first, ${ms('max(e.at)')} AS last
      FROM slot_events e
      WHERE e.provider = ${provider} AND e.slot_id = ${slot} AND e.machine_id IS NOT NULL
      GROUP BY e.machine_id ORDER BY max(e.at) DESC, e.machine_id LIMIT ${limit}`,
  }),
  /** A line of the log comes after one of work of the same moment: it is written with its end. */
  lines: statement({
    name: 'slot-history-lines',
    params: {
      provider: 'text',
      slot: 'text',
      machines: 'uuid[]',
      before: 'int8?',
      beforeSeq: 'int8?',
      limit: 'int8',
    },
    columns: {
      cut: 'int8',
      seq: 'int8',
      at: 'float8',
      machine_id: 'uuid?',
      kind: 'text',
      process: 'text?',
      actor: 'text?',
      reason: 'text',
      from: 'text?',
      to: 'text?',
      session_id: 'uuid?',
    },
    text: ({ provider, slot, machines, before, beforeSeq, limit }) => `
      SELECT * FROM (
        SELECT ${micros('e.at')} AS cut, e.seq + ${ABOVE_WORK} AS seq, ${ms('e.at')} AS at, e.machine_id,
          e.kind, NULL::text AS process, e.actor, e.reason, e."from", e."to", e.session_id
        FROM slot_events e WHERE e.provider = ${provider} AND e.slot_id = ${slot}
        UNION ALL
        SELECT ${micros('y."timestamp"')}, y.seq, ${ms('y."timestamp"')}, y.machine_id,
          y.event::text, y.process::text, y.component, coalesce(y.failed_cause, ''), NULL, NULL,
          y.session_id
        FROM work_history y WHERE y.machine_id = ANY (${machines})
      ) l
      WHERE ${before} IS NULL OR (l.cut, l.seq) < (${before}, ${beforeSeq})
      ORDER BY l.cut DESC, l.seq DESC LIMIT ${limit}`,
  }),
};

const TENANTS_MAX = 20;

/** See `BmdbInspection.slotHistory`. */
export async function readSlotHistory(q: Queries, query: SlotHistoryQuery): Promise<SlotHistory> {
  const { provider, slotId: slot, present, before, limit } = query;
  const found = await q.rows(statements.tenants, { provider, slot, limit: TENANTS_MAX });
  const machines = [...new Set([...found.map((each) => each.machine_id), ...present])];
  const rows = await q.rows(statements.lines, {
    ...{ provider, slot, machines, limit: limit + 1 },
    before: before?.cut ?? null,
    beforeSeq: before?.seq ?? null,
  });
  const shown = rows.slice(0, limit);
  const last = rows.length > limit ? shown.at(-1) : undefined;
  return {
    lines: shown.map((row) => ({
      atMs: row.at,
      of: row.process === null ? 'slot' : 'work',
      machineId: row.machine_id,
      kind: row.kind,
      process: row.process,
      actor: row.actor,
      reason: row.reason,
      from: row.from,
      to: row.to,
      sessionId: row.session_id === null ? null : sessionId(row.session_id),
    })),
    next: last ? { cut: last.cut, seq: last.seq } : null,
    tenants: found.map((row) => ({
      machineId: row.machine_id,
      firstAtMs: row.first,
      lastAtMs: row.last,
    })),
  };
}
