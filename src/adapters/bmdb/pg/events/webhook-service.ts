import type { WebhookService } from '../../events-port.ts';
import { commitFenced } from '../live.ts';
import type { LiveSession } from '../live.ts';
import { commitAsHolder, FENCE, FENCE_TOLD, FENCED, fenceSql } from '../fence.ts';
import { named, statement } from '../statement.ts';
import { eventIn, eventOf, unitedSql } from './read.ts';

const EVENT = eventIn('e');
const PARAMS = { ...FENCE, webhook: 'text' } as const;

export const statements = named('webhook', {
  begin: statement({
    params: { ...PARAMS, from: 'int8' },
    columns: { ...FENCED, told_to: 'int8?', disabled: 'bool?' },
    text: (of) => `
      WITH ${fenceSql(of)}, first AS (
        INSERT INTO webhooks (name, told_to) SELECT ${of.webhook}, ${of.from} FROM lease
        ON CONFLICT DO NOTHING RETURNING told_to, false AS disabled
      ), known AS (
        SELECT told_to, disabled FROM first
        UNION ALL
        SELECT w.told_to, w.disabled_at IS NOT NULL FROM webhooks w WHERE w.name = ${of.webhook}
      )
      SELECT ${FENCE_TOLD}, k.told_to, k.disabled
      FROM (SELECT) AS always LEFT JOIN known k ON true`,
  }),
  due: statement({
    params: { webhook: 'text', but: 'int8[]', limit: 'int8' },
    columns: { number: 'int8', attempts: 'float8', ...EVENT.columns },
    text: ({ webhook, but, limit }) => `
      WITH due AS MATERIALIZED (
        SELECT d.seq, d.attempts, d.next_at FROM webhook_deliveries d
        WHERE d.webhook = ${webhook} AND d.next_at <= now() AND d.seq <> ALL (${but})
        ORDER BY d.next_at, d.seq LIMIT ${limit}
      )
      SELECT d.seq AS number, d.attempts::float8 AS attempts, ${EVENT.sql}
      FROM due d LEFT JOIN LATERAL (
        ${unitedSql('WHERE e.seq = d.seq')}
      ) e ON true
      ORDER BY d.next_at, d.seq`,
  }),
  record: statement({
    params: {
      ...{ ...PARAMS, toldTo: 'int8', delivered: 'bool', gone: 'int8[]', disabled: 'text?' },
      failed: {
        ...{ number: 'int8', type: 'text', attempts: 'int8', nextInMs: 'float8?' },
        ...{ status: 'int8?', cause: 'text' },
      },
    },
    columns: FENCED,
    text: (of) => `
      WITH ${fenceSql(of)}, found AS MATERIALIZED (
        SELECT w.name, w.disabled_at FROM webhooks w
        WHERE w.name = ${of.webhook} AND EXISTS (SELECT 1 FROM lease) FOR UPDATE
      ), told AS (
        UPDATE webhooks w SET told_to = greatest(w.told_to, ${of.toldTo}),
          delivered_at = CASE WHEN ${of.delivered} THEN now() ELSE w.delivered_at END,
          disabled_at = CASE WHEN ${of.disabled} IS NULL THEN w.disabled_at
            ELSE coalesce(w.disabled_at, now()) END,
          disabled_reason = coalesce(${of.disabled}, w.disabled_reason)
        FROM found WHERE w.name = found.name
      ), done AS (
        DELETE FROM webhook_deliveries d WHERE d.webhook = ${of.webhook}
          AND d.seq = ANY (${of.gone}) AND EXISTS (SELECT 1 FROM lease)
      ), noted AS (
        INSERT INTO webhook_deliveries AS d (webhook, seq, type, attempts, next_at, status, cause)
        SELECT ${of.webhook}, number, type, attempts, now() + next_in_ms * interval '1 millisecond',
          status, cause
        FROM ${of.failed} WHERE EXISTS (SELECT 1 FROM lease) ORDER BY number
        ON CONFLICT (webhook, seq) DO UPDATE SET attempts = excluded.attempts, last_at = now(),
          next_at = excluded.next_at, status = excluded.status, cause = excluded.cause
      ), ended AS (
        INSERT INTO fleet_events (type, actor, reason, details)
        SELECT 'webhook.disabled', 'shepherd', ${of.disabled},
          jsonb_build_object('webhook', ${of.webhook})
        FROM found WHERE ${of.disabled} IS NOT NULL AND found.disabled_at IS NULL
      )
      SELECT ${FENCE_TOLD}`,
  }),
});

/** See `WebhookService`. Each call is one idempotent statement. */
export const createWebhookService = (session: LiveSession): WebhookService => ({
  begin: async (lease, webhook, from) => {
    const doing = `begin deliveries to webhook ${webhook}`;
    const begin = [statements.begin, { webhook, from }] as const;
    const [row] = await commitAsHolder(session, lease, doing, begin);
    return { toldTo: row!.told_to!, isDisabled: row!.disabled! };
  },
  due: async (webhook, but, limit) => {
    const doing = `find due deliveries to webhook ${webhook}`;
    const rows = await commitFenced(session, { doing }, [statements.due, { webhook, but, limit }]);
    return rows.map(({ number, attempts, ...row }) => ({ number, attempts, event: eventOf(row) }));
  },
  record: async (lease, webhook, results) => {
    const { hasDelivered, delivered: gone, ...rest } = results;
    const doing = `record deliveries to webhook ${webhook}`;
    const args = { ...rest, webhook, gone, delivered: hasDelivered };
    await commitAsHolder(session, lease, doing, [statements.record, args]);
  },
});
