import type pg from 'pg';
import { statement } from './statement.ts';

/**
 * What our statements depend on, whatever the server, the database, the role or a pooler between is
 * set to. They are set once connected: poolers such as PgBouncer refuse most of them at the start.
 * `default_transaction_read_only` is left alone: it is how a database is fenced.
 */
const SETTINGS: Readonly<Record<string, string>> = {
  // Compiling a statement takes seconds of the server's time, and ours run for milliseconds. The
  // server goes by its estimates, which are anything while a table was never analysed; and before
  // version 18 whatever has no way round a forbidden one (see `BY_KEYS`) counts as dear.
  jit: 'off',
  plan_cache_mode: 'auto',
  search_path: 'public',
  default_transaction_isolation: 'read committed',
  default_transaction_deferrable: 'off',
  lock_timeout: '0',
  // A day is 24 hours, and what is read is parsed.
  TimeZone: 'UTC',
  DateStyle: 'ISO, MDY',
  IntervalStyle: 'postgres',
  extra_float_digits: '1',
  bytea_output: 'hex',
  standard_conforming_strings: 'on',
  // Connections that are kept for later, and the one that listens, are idle most of the time.
  idle_session_timeout: '0',
  // Since version 17; ours end by the two that `prepareConnection` is given.
  transaction_timeout: '0',
};

export const statements = {
  prepareConnection: statement({
    name: 'connection-prepare',
    params: { names: 'text[]', wanted: 'text[]' },
    columns: { setting: 'text' },
    text: ({ names, wanted }) =>
      `SELECT set_config(name, wanted, false) AS setting
       FROM unnest(${names}, ${wanted}) AS w (name, wanted) JOIN pg_settings USING (name)
       UNION ALL
       SELECT set_config('synchronous_commit', 'local', false)
       WHERE current_setting('synchronous_commit') = 'off'`,
  }),
};

/**
 * Sets all of it, in one round trip; what a server does not know (`jit`, where there is none) is
 * left out. What was acknowledged must survive a crash, or a machine would be asked for twice: a
 * weaker `synchronous_commit` than `local` is raised to it, any other is kept.
 * @param timeoutMs for one statement, and for the pause between two of a transaction; null: none.
 */
export async function prepareConnection(
  client: pg.ClientBase,
  timeoutMs: number | null,
  more: Readonly<Record<string, string>> = {},
): Promise<void> {
  const timeout = String(timeoutMs ?? 0);
  const wanted = Object.entries({
    ...SETTINGS,
    statement_timeout: timeout,
    idle_in_transaction_session_timeout: timeout,
    ...more,
  });
  // Without its name: it is run once for each connection, so no plan of it is to be kept.
  await client.query(statements.prepareConnection.text, [
    wanted.map(([name]) => name),
    wanted.map(([, value]) => value),
  ]);
}
