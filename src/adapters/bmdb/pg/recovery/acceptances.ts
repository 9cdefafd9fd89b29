import {
  firstState,
  type AcceptanceCause,
  type AcceptanceCheck,
  type AcceptanceProfile,
} from '../../../../domain/acceptance.ts';
import type { AcceptanceRepository } from '../../acceptance-port.ts';
import type { Database, Queries } from '../pool.ts';
import { type As, named, statement } from '../statement.ts';

/** The end of an upsert: a new request replaces the last one, but keeps its inventory. */
const REPLACE = (held: string) => `ON CONFLICT (machine_id) DO UPDATE SET id = excluded.id,
  cause = excluded.cause, held = ${held}, asked_at = now(), handed_out_at = NULL,
  state = excluded.state, reason = '', checks = '[]', ended_at = NULL`;

/**
 * Of agents that start: a machine's first start makes an acceptance due. A machine whose agent has
 * reported its hardware was in use before there were acceptances. Another agent gets the request
 * that is due already. CTEs over `held h`, for the statement that writes the starts.
 */
export const ACCEPTANCES_OF_STARTS = `accepting AS (
  INSERT INTO machine_acceptances (machine_id, cause, held)
  SELECT h.machine_id, 'first', true FROM held h
  WHERE NOT EXISTS (SELECT FROM machine_hardware_report r WHERE r.machine_id = h.machine_id)
  ORDER BY 1 ON CONFLICT DO NOTHING
), asked_again AS (
  UPDATE machine_acceptances x SET handed_out_at = NULL FROM held h
  WHERE x.machine_id = h.machine_id AND x.state = 'due' AND x.handed_out_at IS NOT NULL
)`;

export const statements = named('acceptance-requests', {
  /**
   * For a person, a machine that serves keeps serving until the result. So does one that never passed,
   * because its agent may be too old to answer.
   */
  request: statement({
    params: { machines: 'uuid[]', cause: 'text', state: 'text' },
    text: ({ machines, cause, state }) =>
      `INSERT INTO machine_acceptances AS x (machine_id, cause, held, state)
       SELECT machine_id, ${cause}, ${cause} NOT IN ('asked', 'repaired'), ${state}
       FROM machines WHERE machine_id = ANY (${machines}) ORDER BY 1
       ${REPLACE(`excluded.held OR x.state = 'failed' OR (x.state <> 'passed' AND x.held)
         OR excluded.cause = 'repaired' AND x.inventory IS NOT NULL`)}
       WHERE excluded.cause <> 'repaired' OR x.state IN ('passed', 'failed')`,
  }),
  begin: statement({
    params: { machines: 'uuid[]' },
    text: ({ machines }) =>
      `UPDATE machine_acceptances SET state = 'due', asked_at = now()
       WHERE machine_id = ANY (${machines}) AND state = 'waiting'`,
  }),
  read: statement({
    params: { machine: 'uuid' },
    columns: {
      profile: 'jsonb?' as As<'jsonb?', AcceptanceProfile | null>,
      checks: 'jsonb' as As<'jsonb', readonly AcceptanceCheck[]>,
    },
    text: ({ machine }) =>
      `SELECT profile, checks FROM machine_acceptances WHERE machine_id = ${machine}`,
  }),
});

/** See `AcceptanceRepository`. */
export const createAcceptanceRepository = (db: Database): AcceptanceRepository => ({
  read: async (machine, signal) => {
    const how = { doing: `read the acceptance of ${machine}`, signal };
    const [found = null] = await db.once(how, statements.read, { machine });
    return found;
  },
  request: (machines) =>
    db.transact({ doing: 'request acceptances', isolation: 'READ COMMITTED' }, (q) =>
      requestAcceptances(q, machines, 'repaired'),
    ),
  begin: async (machines) => {
    await db.commit({ doing: 'begin acceptances' }, statements.begin, { machines: [...machines] });
  },
});

/** Requests acceptances, in the transaction that makes them necessary. */
export async function requestAcceptances(
  q: Queries,
  machines: readonly string[],
  cause: AcceptanceCause,
): Promise<void> {
  const state = firstState(cause);
  if (machines.length > 0)
    await q.run(statements.request, { machines: [...machines], cause, state });
}
