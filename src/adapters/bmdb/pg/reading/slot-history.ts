import type { SlotLine } from '../../../../domain/history/fold.ts';
import type { SlotHistory, SlotHistoryQuery } from '../../port.ts';
import type { Queries } from '../pool.ts';
import { ms } from '../sql.ts';
import { type As, selection, named, statement } from '../statement.ts';

/** Whole microseconds; pages are cut by time, and by line number if times are equal. */
const micros = (column: string) => `round(date_part('epoch', ${column}) * 1e6)::int8`;

/** Raises the log's line numbers above those of work, which come from another sequence. */
const ABOVE_WORK = '4611686018427387904';

const LINE = selection({
  atMs: ['float8', 'l.at'],
  of: [
    'text' as As<'text', SlotLine['of']>,
    `CASE WHEN l.process IS NULL THEN 'slot' ELSE 'work' END`,
  ],
  machineId: ['machine?', 'l.machine_id'],
  kind: ['text', 'l.kind'],
  process: ['text?', 'l.process'],
  actor: ['text?', 'l.actor'],
  reason: ['text', 'l.reason'],
  from: ['text?', 'l."from"'],
  to: ['text?', 'l."to"'],
  sessionId: ['session?', 'l.session_id'],
});

export const statements = named('slot-history', {
  /** Machines that were on the slot according to its log, latest first. */
  tenants: statement({
    params: { provider: 'text', slot: 'text', limit: 'int8' },
    columns: { machineId: 'machine', firstAtMs: 'float8', lastAtMs: 'float8' },
    text: ({ provider, slot, limit }) => `
      SELECT e.machine_id AS "machineId", ${ms('min(e.at)')} AS "firstAtMs",
        ${ms('max(e.at)')} AS "lastAtMs"
      FROM slot_events e
      WHERE e.provider = ${provider} AND e.slot_id = ${slot} AND e.machine_id IS NOT NULL
      GROUP BY e.machine_id ORDER BY max(e.at) DESC, e.machine_id LIMIT ${limit}`,
  }),
  /** A log line sorts after a work line of the same time, because the work's end writes it. */
  lines: statement({
    params: {
      ...{ provider: 'text', slot: 'text', machines: 'uuid[]' },
      ...{ before: 'int8?', beforeSeq: 'int8?', limit: 'int8' },
    },
    columns: { cut: 'int8', seq: 'int8', ...LINE.columns },
    text: ({ provider, slot, machines, before, beforeSeq, limit }) => `
      SELECT l.cut, l.seq, ${LINE.sql} FROM (
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
});

const TENANTS_MAX = 20;

/** See `BmdbInspection.slotHistory`. */
export async function readSlotHistory(q: Queries, query: SlotHistoryQuery): Promise<SlotHistory> {
  const { provider, slotId: slot, present, before, limit } = query;
  const found = await q.rows(statements.tenants, { provider, slot, limit: TENANTS_MAX });
  const machines = [...new Set([...found.map((each) => each.machineId), ...present])];
  const rows = await q.rows(statements.lines, {
    ...{ provider, slot, machines, limit: limit + 1 },
    ...{ before: before?.cut, beforeSeq: before?.seq },
  });
  const shown = rows.slice(0, limit);
  const last = rows.length > limit ? shown.at(-1) : undefined;
  return {
    lines: shown.map(({ cut: _, seq: __, ...line }) => line),
    next: last ? { cut: last.cut, seq: last.seq } : null,
    tenants: found,
  };
}
