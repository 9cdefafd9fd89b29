import { PERMIT_RETURNED_AFTER } from '../../../../domain/policy.ts';
import type { LossPolicy } from '../../../../domain/policy.ts';
import {
  mayBeSilent,
  SILENCE_ACTOR,
  SILENCE_REASONS,
  SILENT,
} from '../../../../domain/recovery/guard-status.ts';
import {
  DONE,
  HEARD,
  heartbeatingSql,
  lostAtSql,
  PENDING,
  QUARANTINED_NOW,
  SLOT_ID,
} from '../eligibility.ts';
import { readGate } from './guard-repository.ts';
import type { PgContext } from '../live.ts';
import type { Queries } from '../pool.ts';
import { statement } from '../statement.ts';

/**
 * Maximum lines of each kind that one sweep writes; the next sweeps write the rest, for example
 * after a site was cut off.
 */
const LINES_MAX = 2_000;

/** Over `r`, `o`, `h` and `a`: state of a running machine, or its state at the last heartbeat. */
const RUNNING = `CASE WHEN ${PENDING} AND r.handed_out_at IS NOT NULL THEN 'Running · installingOs'
  WHEN ${HEARD} THEN 'Running · healthy' ELSE 'Running · awaitingHeartbeat' END`;

const SINCE = `CASE WHEN ${HEARD} THEN h.agent_heartbeat_at ELSE a.agent_started_at END`;
const isOverdue = (loss: LossPolicy) => `now() > ${lostAtSql(loss)} AND NOT ${DONE}`;
const SHOULD_RUN = `p.provider_status IS DISTINCT FROM 'Missing' AND d.machine_id IS NULL
  AND NOT ${QUARANTINED_NOW}`;

/** See `silentSinceMs` of the domain; over `FROM`, a timestamp or NULL. */
export const silentSinceSql = (loss: LossPolicy): string =>
  `CASE WHEN a.machine_id IS NOT NULL AND p.machine_id IS NOT NULL AND ${isOverdue(loss)}
    AND ${SHOULD_RUN} THEN ${SINCE} END`;
/** See `isHeardAgain`. */
export const isHeardAgainSql = (loss: LossPolicy): string =>
  `(${DONE} OR (${heartbeatingSql(loss)} AND h.unbroken_count >= ${PERMIT_RETURNED_AFTER}))`;
/** See `fellSilent`. */
export const STATE_BEFORE = RUNNING;
const stateAfter = (done: string, running: string) =>
  `CASE WHEN ${QUARANTINED_NOW} THEN 'Quarantined · ' || q.kind::text
    WHEN d.machine_id IS NOT NULL THEN 'Deprovisioning'
    WHEN p.provider_status = 'Missing' THEN 'Quarantined · missing'
    WHEN EXISTS (SELECT 1 FROM recovery_permits g WHERE g.machine_id = p.machine_id)
      THEN 'Recovering'
    WHEN ${done} THEN 'HandedOver · installed' ELSE ${running} END`;
/** See `heardAgain`. */
export const STATE_AFTER = stateAfter(DONE, RUNNING);

const LINE = `INSERT INTO slot_events (provider, slot_id, machine_id, kind, actor, reason, "from", "to")`;

/**
 * A daemon finds the lines that another daemon has written, because each line belongs to the row
 * that its statement inserts or deletes. Narrow tables are scanned; everything else is looked up,
 * only for the rows to be written. CASE is used because the planner would expect any other
 * condition to match hardly any row. LIMIT stands apart from the condition, because otherwise the
 * planner would look up every row in the hope of an early end.
 */
export const statementsFor = (loss: LossPolicy) => ({
  fellSilent: statement({
    name: 'sweep-fell-silent',
    params: { limit: 'int8' },
    text: ({ limit }) => `
      WITH overdue AS MATERIALIZED (
        SELECT a.machine_id, ${SINCE} AS since, ${STATE_BEFORE} AS before
        FROM machine_agent_started a
          LEFT JOIN machine_agent_heartbeat h ON h.machine_id = a.machine_id
          LEFT JOIN machine_os_installation_request r ON r.machine_id = a.machine_id
          LEFT JOIN machine_os_installation_report o ON o.machine_id = a.machine_id
        WHERE CASE WHEN ${isOverdue(loss)} THEN (
            SELECT true FROM machine_provided p
              LEFT JOIN machine_quarantined q ON q.machine_id = p.machine_id
              LEFT JOIN machine_deprovision_request d ON d.machine_id = p.machine_id
            WHERE p.machine_id = a.machine_id AND ${SHOULD_RUN}
          ) END
          AND NOT EXISTS (SELECT 1 FROM silent_machines s WHERE s.machine_id = a.machine_id)
      ), picked AS MATERIALIZED (
        SELECT * FROM overdue LIMIT ${limit}
      ), silent AS MATERIALIZED (
        SELECT v.*, p.provider, ${SLOT_ID} AS slot_id
        FROM picked v JOIN machines m ON m.machine_id = v.machine_id
          JOIN machine_provided p ON p.machine_id = v.machine_id
        FOR KEY SHARE OF m SKIP LOCKED
      ), noted AS (
        INSERT INTO silent_machines (machine_id, silent_since)
        SELECT machine_id, since FROM silent ORDER BY machine_id
        ON CONFLICT DO NOTHING RETURNING machine_id
      )
      ${LINE}
      SELECT s.provider, s.slot_id, s.machine_id, 'fellSilent', '${SILENCE_ACTOR}',
        '${SILENCE_REASONS.fell}', s.before, '${SILENT}'
      FROM silent s WHERE s.machine_id IN (SELECT machine_id FROM noted)`,
  }),
  heardAgain: statement({
    name: 'sweep-heard-again',
    params: { limit: 'int8' },
    text: ({ limit }) => `
      WITH heard AS MATERIALIZED (
        SELECT s.machine_id, ${DONE} AS done, ${RUNNING} AS running
        FROM silent_machines s
          LEFT JOIN machine_agent_started a ON a.machine_id = s.machine_id
          LEFT JOIN machine_agent_heartbeat h ON h.machine_id = s.machine_id
          LEFT JOIN machine_os_installation_request r ON r.machine_id = s.machine_id
          LEFT JOIN machine_os_installation_report o ON o.machine_id = s.machine_id
        WHERE ${isHeardAgainSql(loss)}
        LIMIT ${limit} FOR UPDATE OF s SKIP LOCKED
      ), gone AS (
        DELETE FROM silent_machines s WHERE s.machine_id = ANY (ARRAY (
          SELECT machine_id FROM heard)) RETURNING s.machine_id
      )
      ${LINE}
      SELECT p.provider, ${SLOT_ID}, p.machine_id, 'heardAgain', '${SILENCE_ACTOR}',
        CASE WHEN e.done THEN '${SILENCE_REASONS.installed}' ELSE '${SILENCE_REASONS.heard}' END,
        '${SILENT}', ${stateAfter('e.done', 'e.running')}
      FROM heard e JOIN machine_provided p ON p.machine_id = e.machine_id
        LEFT JOIN machine_quarantined q ON q.machine_id = e.machine_id
        LEFT JOIN machine_deprovision_request d ON d.machine_id = e.machine_id
      WHERE e.machine_id IN (SELECT machine_id FROM gone)`,
  }),
});

/** Logs machines that fell silent or were heard again. Returns the number of lines. */
export async function noteSilences(
  q: Queries,
  context: Pick<PgContext, 'guard' | 'loss'>,
): Promise<number> {
  const { fellSilent, heardAgain } = statementsFor(context.loss);
  const heard = await q.run(heardAgain, { limit: LINES_MAX });
  const { grace, last } = await readGate(q, context);
  if (!mayBeSilent(grace, last.counts)) return heard;
  return heard + (await q.run(fellSilent, { limit: LINES_MAX }));
}
