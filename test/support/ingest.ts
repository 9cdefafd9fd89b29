import type pg from 'pg';
import type { Memory } from '../doubles/mem-bmdb/tables.ts';
import { calmRow, DEFAULT_GUARD, FLEET } from '../../src/domain/recovery/guard-judgement.ts';
import type { GuardPolicy } from '../../src/domain/recovery/guard-judgement.ts';

/** A guard that never suspects itself, however many machines fall silent together. */
export const TRUSTING_GUARD: GuardPolicy = {
  ...DEFAULT_GUARD,
  silentPercent: 100,
  unreachablePercent: 100,
};

/**
 * Says that heartbeats have arrived for a year and will for another, whatever the clocks do. For
 * tests of recovery without the guard's grace.
 */
const YEAR_MS = 365 * 86_400_000;

export function takenIn({ guard, now }: Memory): void {
  guard.seenAtMs = now() + YEAR_MS;
  guard.lostAtMs = null;
  const row = guard.rows.get(FLEET) ?? calmRow(FLEET);
  guard.rows.set(FLEET, { ...row, ingestUpSinceMs: now() - YEAR_MS });
}

/** Says that heartbeats have never arrived, as after the first start. */
export function notTakenIn({ guard }: Memory): void {
  guard.seenAtMs = null;
  guard.lostAtMs = null;
  guard.rows.set(FLEET, calmRow(FLEET));
}

/** The same, in PostgreSQL. */
export async function takenInSql(sql: Pick<pg.Pool, 'query'>): Promise<void> {
  await sql.query(`
    INSERT INTO fleet_guard (scope, ingest_up_since) VALUES ('fleet', now() - interval '365 days')
      ON CONFLICT (scope) DO UPDATE SET ingest_up_since = excluded.ingest_up_since;
    INSERT INTO guard_pulse (ingest_seen_at) VALUES (now() + interval '365 days')
      ON CONFLICT (single) DO UPDATE SET ingest_seen_at = excluded.ingest_seen_at`);
}

export async function notTakenInSql(sql: Pick<pg.Pool, 'query'>): Promise<void> {
  await sql.query(`
    UPDATE fleet_guard SET ingest_up_since = NULL;
    UPDATE guard_pulse SET ingest_seen_at = NULL, ingest_lost_at = NULL, assessed_at = NULL`);
}
