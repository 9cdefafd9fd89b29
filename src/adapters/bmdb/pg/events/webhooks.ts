import type { WebhookRepository } from '../../events-port.ts';
import type { Database } from '../pool.ts';
import { ms } from '../sql.ts';
import { selection, named, statement } from '../statement.ts';

/** How long dead letters are kept. */
const DEAD_KEPT_DAYS = 30;
/**
 * A delivery due for this long is retried by nobody: its webhook is disabled or no longer
 * configured. The event itself may be deleted after this time.
 */
const DUE_KEPT_DAYS = 90;
const DEAD = `d.next_at IS NULL AND d.last_at < now() - interval '${DEAD_KEPT_DAYS} days'`;
const LEFT = `d.next_at < now() - interval '${DUE_KEPT_DAYS} days'`;
/** Whether there is anything to trim. Looks per webhook, to match the index of due deliveries. */
export const UNKEPT = `EXISTS (SELECT 1 FROM webhook_deliveries d WHERE ${DEAD})
  OR EXISTS (SELECT 1 FROM webhooks w CROSS JOIN LATERAL (
    SELECT 1 FROM webhook_deliveries d WHERE d.webhook = w.name AND ${LEFT} LIMIT 1) e)`;
const LISTED = selection({
  name: ['text', 'w.name'],
  toldTo: ['int8', 'w.told_to'],
  deliveredAtMs: ['float8?', ms('w.delivered_at')],
  disabledAtMs: ['float8?', ms('w.disabled_at')],
  disabledReason: ['text?', 'w.disabled_reason'],
  waiting: ['float8', 'd.waiting::float8'],
  waitingSinceMs: ['float8?', ms('d.since')],
  dead: ['float8', 'd.dead::float8'],
});
const FAILED = selection({
  number: ['int8', 'd.seq'],
  type: ['text', 'd.type'],
  attempts: ['float8', 'd.attempts::float8'],
  firstAtMs: ['float8', ms('d.first_at')],
  lastAtMs: ['float8', ms('d.last_at')],
  nextAtMs: ['float8?', ms('d.next_at')],
  status: ['float8?', 'd.status::float8'],
  cause: ['text', 'd.cause'],
});

const LISTED_MAX = 1_000;

export const statements = named('webhook', {
  list: statement({
    name: 'webhooks-list',
    columns: LISTED.columns,
    text: () => `
      SELECT ${LISTED.sql}
      FROM webhooks w CROSS JOIN LATERAL (
        SELECT count(*) FILTER (WHERE e.next_at IS NOT NULL) AS waiting,
          min(e.first_at) FILTER (WHERE e.next_at IS NOT NULL) AS since,
          count(*) FILTER (WHERE e.next_at IS NULL) AS dead
        FROM webhook_deliveries e WHERE e.webhook = w.name
      ) d ORDER BY w.name COLLATE "C"`,
  }),
  deliveries: statement({
    params: { webhook: 'text', dead: 'bool?', before: 'int8?', limit: 'int8' },
    columns: FAILED.columns,
    text: ({ webhook, dead, before, limit }) =>
      `SELECT ${FAILED.sql}
       FROM webhook_deliveries d
       WHERE d.webhook = ${webhook} AND (${dead} IS NULL OR (d.next_at IS NULL) = ${dead})
         AND (${before} IS NULL OR d.seq < ${before})
       ORDER BY d.seq DESC LIMIT ${limit}`,
  }),
  replay: statement({
    params: { webhook: 'text', seq: 'int8' },
    columns: { seq: 'int8' },
    text: ({ webhook, seq }) =>
      `UPDATE webhook_deliveries d SET attempts = 0, next_at = now()
       WHERE d.webhook = ${webhook} AND d.seq = ${seq} RETURNING d.seq`,
  }),
  enable: statement({
    params: { webhook: 'text' },
    columns: { name: 'text' },
    text: ({ webhook }) =>
      `UPDATE webhooks w SET disabled_at = NULL, disabled_reason = NULL
       WHERE w.name = ${webhook} AND w.disabled_at IS NOT NULL RETURNING w.name`,
  }),
  /** Part of the housekeeping. */
  trim: statement({
    name: 'sweep-trim-deliveries',
    params: { limit: 'int8' },
    text: ({ limit }) =>
      `DELETE FROM webhook_deliveries WHERE (webhook, seq) IN (
         SELECT d.webhook, d.seq FROM webhook_deliveries d WHERE ${DEAD} OR ${LEFT}
         ORDER BY d.last_at LIMIT ${limit} FOR UPDATE SKIP LOCKED)`,
  }),
});

/** See `WebhookRepository`. */
export const createWebhookRepository = (db: Database): WebhookRepository => ({
  list: (signal) => db.once({ doing: 'list webhooks', signal }, statements.list, {}),
  deliveries: ({ webhook, state, before, ...query }, signal) => {
    const dead = state === undefined ? null : state === 'dead';
    const limit = Math.max(1, Math.min(LISTED_MAX, Math.floor(query.limit)));
    const doing = `list deliveries to webhook ${webhook}`;
    return db.once({ doing, signal }, statements.deliveries, { webhook, dead, before, limit });
  },
  replay: async (webhook, number) => {
    const doing = `replay a delivery to webhook ${webhook}`;
    return (await db.write(doing, statements.replay, { webhook, seq: number })).length > 0;
  },
  enable: async (webhook) => {
    const doing = `enable webhook ${webhook}`;
    return (await db.write(doing, statements.enable, { webhook })).length > 0;
  },
});
