import { ACCEPTANCE_SOURCE } from '../../../../domain/acceptance.ts';
import {
  AGENT_SOURCE,
  PROVIDER_SOURCE,
  type ConditionStatus,
} from '../../../../domain/conditions.ts';
import type { ConditionReport, ConditionRepository } from '../../conditions-port.ts';
import type { Database, Queries } from '../pool.ts';
import { ms, texts } from '../sql.ts';
import { type As, named, selection, statement } from '../statement.ts';

/** The table must have the alias `c`. */
const CONDITION = selection({
  provider: ['provider', 'c.provider'],
  slotId: ['text', 'c.slot_id'],
  type: ['text', 'c.type'],
  source: ['text', 'c.source'],
  status: ['text' as As<'text', ConditionStatus>, 'c.status'],
  reason: ['text', 'c.reason'],
  detail: ['text', 'c.detail'],
  sinceMs: ['float8', ms('c.since')],
  expiresAtMs: ['float8?', ms('c.expires_at')],
});
const BY_NAME = 'ORDER BY c.provider, c.slot_id, c.type, c.source';

export const statements = named('conditions', {
  open: statement({
    columns: CONDITION.columns,
    text: () =>
      `SELECT ${CONDITION.sql} FROM machine_conditions c
       WHERE c.status <> 'False' OR c.expires_at IS NOT NULL ${BY_NAME}`,
  }),
  ofSlot: statement({
    params: { provider: 'text', slot: 'text' },
    columns: CONDITION.columns,
    text: ({ provider, slot }) =>
      `SELECT ${CONDITION.sql} FROM machine_conditions c
       WHERE c.provider = ${provider} AND c.slot_id = ${slot} ${BY_NAME}`,
  }),
  /** Reports of the same type and source wait for each other, in one order. */
  report: statement({
    params: {
      reports: {
        ...{ provider: 'text', slotId: 'text', type: 'text', source: 'text', status: 'text' },
        ...{ reason: 'text', detail: 'text', validForMs: 'float8?', machineId: 'uuid?' },
      },
    },
    text: ({ reports }) => `
      WITH told AS MATERIALIZED (
        SELECT reports.*, c.status AS before FROM ${reports}
          LEFT JOIN machine_conditions c ON c.provider = reports.provider
            AND c.slot_id = reports.slot_id AND c.type = reports.type AND c.source = reports.source
        WHERE c.status IS NOT NULL OR reports.status <> 'False'
          OR reports.source NOT IN (${texts([ACCEPTANCE_SOURCE, AGENT_SOURCE, PROVIDER_SOURCE])})
      ), written AS (
        INSERT INTO machine_conditions AS c
          (provider, slot_id, type, source, status, reason, detail, expires_at)
        SELECT provider, slot_id, type, source, status, reason, detail,
          now() + valid_for_ms * interval '1 millisecond'
        FROM told ORDER BY 1, 2, 3, 4
        ON CONFLICT (provider, slot_id, type, source) DO UPDATE SET
          since = CASE WHEN c.status = excluded.status THEN c.since ELSE now() END,
          status = excluded.status, reason = excluded.reason, detail = excluded.detail,
          seen = now(), expires_at = excluded.expires_at
      )
      INSERT INTO slot_events (provider, slot_id, machine_id, kind, actor, reason, "from", "to")
      SELECT t.provider, t.slot_id, t.machine_id,
        CASE t.status WHEN 'True' THEN 'conditionSet' WHEN 'False' THEN 'conditionCleared'
          ELSE 'conditionUnknown' END,
        t.source, t.type || ': ' || t.reason, t.before, t.status
      FROM told t WHERE t.status <> coalesce(t.before, 'False')
      ORDER BY t.provider, t.slot_id, t.type, t.source`,
  }),
});

/** Part of a transaction; see `ConditionRepository`. */
export async function writeConditions(
  q: Queries,
  reports: readonly ConditionReport[],
): Promise<void> {
  if (reports.length > 0) await q.run(statements.report, { reports });
}

/** See `ConditionRepository`. */
export const createConditionRepository = (db: Database): ConditionRepository => ({
  report: (reports) =>
    db.transact({ doing: 'report conditions', isolation: 'READ COMMITTED' }, (q) =>
      writeConditions(q, reports),
    ),
  ofSlot: ({ provider, slotId: slot }, signal) =>
    db.transact({ doing: 'read conditions', isolation: 'READ COMMITTED', signal }, (q) =>
      q.rows(statements.ofSlot, { provider, slot }),
    ),
});
