import type { SessionId } from '../../../../domain/ids.ts';
import type { Settlement } from '../../../../domain/settlement.ts';
import type { Queries } from '../pool.ts';
import { statement } from '../statement.ts';

/** How a request ends. Without an event its line says what was asked for, and the outcome. */
export interface RequestEnd extends Pick<Settlement, 'state' | 'outcome' | 'event'> {
  readonly key: string;
}

export const statements = {
  end: statement({
    name: 'requests-end',
    params: {
      keys: 'text[]',
      states: 'text[]',
      outcomes: 'text[]',
      kinds: 'text?[]',
      reasons: 'text?[]',
      session: 'uuid?',
    },
    columns: { key: 'text' },
    text: ({ keys, states, outcomes, kinds, reasons, session }) => `
      WITH ending AS MATERIALIZED (
        SELECT e.* FROM unnest(${keys}, ${states}, ${outcomes}, ${kinds}, ${reasons})
          AS e (key, state, outcome, kind, reason)
          JOIN operator_intents y ON y.idempotency_key = e.key
        WHERE y.state = 'open' ORDER BY e.key FOR UPDATE OF y
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
};

/**
 * Ends requests, each with a line in the log of its slot, in the name of who asked. What was ended
 * before stays. Part of a transaction; it waits for whoever is settling one of them.
 */
export async function endRequests(
  q: Queries,
  session: SessionId | null,
  ends: readonly RequestEnd[],
): Promise<void> {
  if (ends.length === 0) return;
  await q.rows(statements.end, {
    keys: ends.map(({ key }) => key),
    states: ends.map(({ state }) => state),
    outcomes: ends.map(({ outcome }) => outcome),
    kinds: ends.map(({ event }) => event?.kind ?? null),
    reasons: ends.map(({ event }) => event?.reason ?? null),
    session,
  });
}
