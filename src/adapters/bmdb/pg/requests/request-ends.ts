import type { SessionId } from '../../../../domain/ids.ts';
import type { RequestResult } from '../../../../domain/request-result.ts';
import type { Queries } from '../pool.ts';
import { named, statement } from '../statement.ts';

/** How a request ends. Without an event, its log line gives the request and the outcome. */
export interface RequestEnd extends Pick<RequestResult, 'state' | 'outcome' | 'event'> {
  readonly key: string;
}

export const statements = named('requests', {
  end: statement({
    params: {
      ends: { key: 'text', state: 'text', outcome: 'text', kind: 'text?', reason: 'text?' },
      session: 'uuid?',
    },
    columns: { key: 'text' },
    text: ({ ends, session }) => `
      WITH ending AS MATERIALIZED (
        SELECT ends.* FROM ${ends} JOIN operator_intents y ON y.idempotency_key = ends.key
        WHERE y.state = 'open' ORDER BY ends.key FOR UPDATE OF y
      ), ended AS (
        UPDATE operator_intents y SET state = e.state, outcome = e.outcome, settled_at = now()
        FROM ending e WHERE y.idempotency_key = e.key
        RETURNING y.provider, y.slot_id, y.machine_id, y.actor, e.key,
          coalesce(e.kind, CASE e.state WHEN 'done' THEN 'requestDone' ELSE 'requestRefused' END)
            AS kind,
          coalesce(e.reason, y.verb || ': ' || e.outcome) AS reason
      ), written AS (
        INSERT INTO slot_events (provider, slot_id, machine_id, kind, actor, reason, session_id)
        SELECT provider, slot_id, machine_id, kind, actor, reason, ${session} FROM ended
        WHERE provider IS NOT NULL AND slot_id IS NOT NULL
      )
      SELECT key FROM ended`,
  }),
});

/**
 * Ends requests and logs each for its slot, in the requester's name. Requests that already ended
 * stay as they are. Part of a transaction; waits for concurrent changes of these requests.
 */
export async function endRequests(
  q: Queries,
  session: SessionId | null,
  ends: readonly RequestEnd[],
): Promise<void> {
  if (ends.length === 0) return;
  const told = ends.map(({ event, ...end }) => ({ ...end, ...event }));
  await q.rows(statements.end, { ends: told, session });
}
