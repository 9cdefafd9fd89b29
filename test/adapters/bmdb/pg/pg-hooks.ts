import type pg from 'pg';
import type { BmdbHarness } from '../../../contracts/bmdb.ts';

type Hooks = Pick<
  BmdbHarness,
  'remove' | 'request' | 'spoil' | 'withdraw' | 'lift' | 'thaw' | 'addHistory' | 'reachable'
>;

/** Actions of the contract behind the BMDB's back, by SQL of the owner. `url` is the BMDB's. */
export const pgHooks = (sql: pg.Pool, url: string): Hooks => ({
  remove: (id) => removeMachine(sql, id),
  request: async (id, generation, raw = new Uint8Array([1])) => {
    await sql.query(
      `INSERT INTO machine_os_installation_request
         (machine_id, generation, os_installation_request_raw) VALUES ($1, $2, $3)
       ON CONFLICT (machine_id) DO UPDATE SET generation = excluded.generation,
         os_installation_request_raw = excluded.os_installation_request_raw`,
      [id, generation, Buffer.from(raw)],
    );
  },
  spoil: async (id) => {
    await sql.query(`ALTER TYPE provider_status ADD VALUE IF NOT EXISTS 'Levitating'`);
    await sql.query(
      `UPDATE machine_provided SET provider_status = 'Levitating' WHERE machine_id = $1`,
      [id],
    );
  },
  withdraw: async (id) => {
    await sql.query(`DELETE FROM machine_deprovision_request WHERE machine_id = $1`, [id]);
  },
  lift: async (provider, slotId, kind) => {
    await sql.query(`DELETE FROM slot_holds WHERE provider = $1 AND slot_id = $2 AND kind = $3`, [
      ...[provider, slotId, kind],
    ]);
  },
  thaw: async (scope) => {
    await sql.query(
      `UPDATE fleet_guard SET frozen_at = NULL, frozen_by = NULL, frozen_kind = NULL,
      reason = NULL WHERE scope = $1`,
      [scope],
    );
  },
  addHistory: async (id, count) => {
    await sql.query(
      `INSERT INTO work_history (machine_id, process, event, failed_cause, session_id)
       SELECT $1, 'UnitTest1', 'Failed', 'line ' || line, '00000000-0000-4000-8000-00000000feed'
       FROM generate_series(1, $2::int) AS line ORDER BY line`,
      [id, count],
    );
  },
  reachable: (yes) => allowConnections(sql, url, yes),
});

async function removeMachine(sql: pg.Pool, id: string): Promise<void> {
  const { rows } = await sql.query<{ name: string }>(
    `SELECT table_name AS name FROM information_schema.columns
     WHERE table_schema = 'public' AND column_name = 'machine_id'
       AND (table_name LIKE 'machine\\_%' AND table_name <> 'machine_changes'
         OR table_name IN ('work', 'work_backoff', 'recovery_permits'))`,
  );
  const deletes = rows.map(({ name }) => `DELETE FROM ${name} WHERE machine_id = '${id}';`);
  await sql.query(
    `BEGIN; ${deletes.join(' ')} DELETE FROM machines WHERE machine_id = '${id}'; COMMIT`,
  );
}

/** Maximum time that the server waits for a connection to end. */
const GONE_WITHIN_MS = 10_000;

/**
 * Only connections of the daemons' role. The owner stays connected. The connections have ended when
 * this returns: a connection that the server still had to end would fail its next command, although
 * the database should be reachable again by then.
 */
async function allowConnections(sql: pg.Pool, url: string, yes: boolean): Promise<void> {
  const role = new URL(url).username;
  await sql.query(`ALTER ROLE "${role}" CONNECTION LIMIT ${yes ? -1 : 0}`);
  if (yes) return;
  // Ends all at once, and then waits for each.
  const which = `FROM pg_stat_activity WHERE usename = $1`;
  await sql.query(`SELECT pg_terminate_backend(pid) ${which}`, [role]);
  await sql.query(`SELECT pg_terminate_backend(pid, ${GONE_WITHIN_MS}) ${which}`, [role]);
}
