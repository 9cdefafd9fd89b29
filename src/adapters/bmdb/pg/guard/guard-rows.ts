import type { FreezeKind, GuardRow } from '../../../../domain/machine.ts';
import { FLEET } from '../../../../domain/recovery/guard-judgement.ts';
import type { Queries } from '../pool.ts';
import { ms } from '../sql.ts';
import { statement } from '../statement.ts';
import type { RowOf } from '../statement.ts';

/** A parameter in epoch milliseconds as a timestamp. */
export const time = (epochMs: string) => `to_timestamp(${epochMs} / 1000)`;

export const statements = {
  /** Whatever the guard decides is decided by one transaction after the other. */
  lock: statement({
    name: 'guard-lock',
    params: {},
    columns: { scope: 'text' },
    text: () => `SELECT scope FROM fleet_guard WHERE scope = '${FLEET}' FOR UPDATE`,
  }),
  read: statement({
    name: 'guard-rows',
    params: {},
    columns: {
      scope: 'text',
      frozen_at: 'float8?',
      frozen_by: 'text?',
      frozen_kind: 'text?',
      reason: 'text?',
      calm: 'float8?',
      thawed: 'float8?',
      ingest: 'float8?',
    },
    text: () => `
      SELECT scope, ${ms('frozen_at')} AS frozen_at, frozen_by, frozen_kind, reason,
        ${ms('calm_since')} AS calm, ${ms('thawed_at')} AS thawed,
        ${ms('ingest_up_since')} AS ingest
      FROM fleet_guard ORDER BY scope COLLATE "C"`,
  }),
  writeRow: statement({
    name: 'guard-write-row',
    params: {
      scope: 'text',
      at: 'float8?',
      by: 'text?',
      kind: 'text?',
      reason: 'text?',
      calm: 'float8?',
      thawed: 'float8?',
      up: 'float8?',
    },
    columns: {},
    text: ({ scope, at, by, kind, reason, calm, thawed, up }) => `
      INSERT INTO fleet_guard (scope, frozen_at, frozen_by, frozen_kind, reason, calm_since,
        thawed_at, ingest_up_since)
      VALUES (${scope}, ${time(at)}, ${by}, ${kind}, ${reason}, ${time(calm)}, ${time(thawed)},
        ${time(up)})
      ON CONFLICT (scope) DO UPDATE SET frozen_at = excluded.frozen_at,
        frozen_by = excluded.frozen_by, frozen_kind = excluded.frozen_kind,
        reason = excluded.reason, calm_since = excluded.calm_since,
        thawed_at = excluded.thawed_at, ingest_up_since = excluded.ingest_up_since`,
  }),
};

/** What the guard has decided, of the fleet and of each provider that it ever decided on. */
export const readGuardRows = async (q: Queries): Promise<GuardRow[]> =>
  (await q.rows(statements.read, {})).map(toGuardRow);

export const toGuardRow = (row: RowOf<typeof statements.read.columns>): GuardRow => ({
  scope: row.scope,
  frozen:
    row.frozen_at === null
      ? null
      : {
          atMs: row.frozen_at,
          by: row.frozen_by ?? '',
          reason: row.reason ?? '',
          kind: row.frozen_kind as FreezeKind,
        },
  calmSinceMs: row.calm,
  thawedAtMs: row.thawed,
  ingestUpSinceMs: row.ingest,
});

/** Until the transaction has ended, nobody else decides anything about the guard. */
export async function lockGuard(q: Queries): Promise<void> {
  const guard = await q.rows(statements.lock, {});
  if (guard.length === 0) throw new Error('fleet_guard has no row for the fleet');
}

/** Writes what was decided for a scope. The guard must be locked. */
export async function writeGuardRow(q: Queries, row: GuardRow): Promise<void> {
  const { scope, frozen } = row;
  await q.run(statements.writeRow, {
    scope,
    at: frozen?.atMs ?? null,
    by: frozen?.by ?? null,
    kind: frozen?.kind ?? null,
    reason: frozen?.reason ?? null,
    calm: row.calmSinceMs,
    thawed: row.thawedAtMs,
    up: row.ingestUpSinceMs,
  });
}
