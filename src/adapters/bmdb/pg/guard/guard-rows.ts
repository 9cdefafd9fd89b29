import type { GuardRow } from '../../../../domain/machine.ts';
import { FLEET } from '../../../../domain/recovery/guard-judgement.ts';
import type { Queries } from '../pool.ts';
import { ms } from '../sql.ts';
import { type As, selection, named, statement } from '../statement.ts';

/** A parameter in epoch milliseconds as a timestamp. */
export const time = (epochMs: string) => `to_timestamp(${epochMs} / 1000)`;

const ROW = selection({
  scope: ['text', 'scope'],
  frozen: [
    'jsonb?' as As<'jsonb?', GuardRow['frozen']>,
    `CASE WHEN frozen_at IS NOT NULL THEN jsonb_build_object('atMs', ${ms('frozen_at')},
      'by', coalesce(frozen_by, ''), 'reason', coalesce(reason, ''), 'kind', frozen_kind,
      'untilMs', ${ms('frozen_until')}) END`,
  ],
  calmSinceMs: ['float8?', ms('calm_since')],
  thawedAtMs: ['float8?', ms('thawed_at')],
  ingestUpSinceMs: ['float8?', ms('ingest_up_since')],
});

export const statements = named('guard', {
  /** Serializes all transactions in which the guard decides something. */
  lock: statement({
    columns: { scope: 'text' },
    text: () => `SELECT scope FROM fleet_guard WHERE scope = '${FLEET}' FOR UPDATE`,
  }),
  read: statement({
    name: 'guard-rows',
    columns: ROW.columns,
    text: () => `SELECT ${ROW.sql} FROM fleet_guard ORDER BY scope COLLATE "C"`,
  }),
  writeRow: statement({
    params: {
      ...{ scope: 'text', atMs: 'float8?', by: 'text?', kind: 'text?', reason: 'text?' },
      untilMs: 'float8?',
      ...{ calmSinceMs: 'float8?', thawedAtMs: 'float8?', ingestUpSinceMs: 'float8?' },
    },
    text: ({ scope, atMs, by, kind, reason, untilMs, ...times }) => `
      INSERT INTO fleet_guard (scope, frozen_at, frozen_by, frozen_kind, reason, frozen_until,
        calm_since, thawed_at, ingest_up_since)
      VALUES (${scope}, ${time(atMs)}, ${by}, ${kind}, ${reason}, ${time(untilMs)},
        ${time(times.calmSinceMs)}, ${time(times.thawedAtMs)}, ${time(times.ingestUpSinceMs)})
      ON CONFLICT (scope) DO UPDATE SET frozen_at = excluded.frozen_at,
        frozen_by = excluded.frozen_by, frozen_kind = excluded.frozen_kind,
        reason = excluded.reason, frozen_until = excluded.frozen_until, calm_since = excluded.calm_since,
        thawed_at = excluded.thawed_at, ingest_up_since = excluded.ingest_up_since`,
  }),
});

/** The guard's decisions for the fleet and for each provider that has one. */
export const readGuardRows = (q: Queries): Promise<GuardRow[]> => q.rows(statements.read, {});

/** Until this transaction ends, no other can change the guard's decisions. */
export async function lockGuard(q: Queries): Promise<void> {
  const guard = await q.rows(statements.lock, {});
  if (guard.length === 0) throw new Error('fleet_guard has no row for the fleet');
}

/** Writes the decision for a scope. The guard must be locked. */
export async function writeGuardRow(q: Queries, { frozen, ...row }: GuardRow): Promise<void> {
  await q.run(statements.writeRow, { ...frozen, ...row });
}
