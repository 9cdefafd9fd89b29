import type pg from 'pg';
import { statement } from './statement.ts';

/**
 * Settings that our statements need, whatever the server, the database, the role or a pooler sets.
 * They are set after connecting, because poolers such as PgBouncer refuse most of them in the
 * startup packet. `default_transaction_read_only` stays untouched, because it serves to fence a
 * database.
 */
const SETTINGS: Readonly<Record<string, string>> = {
  // Our statements run for milliseconds; compiling one takes seconds. The server decides by cost
  // estimates, which are arbitrary for tables that were never analysed. Before version 18, disabled
  // plan types without an alternative (see `BY_KEYS`) also count as expensive.
  jit: 'off',
  plan_cache_mode: 'auto',
  search_path: 'public',
  default_transaction_isolation: 'read committed',
  default_transaction_deferrable: 'off',
  lock_timeout: '0',
  // The program parses dates and counts a day as 24 hours.
  TimeZone: 'UTC',
  DateStyle: 'ISO, MDY',
  IntervalStyle: 'postgres',
  extra_float_digits: '1',
  bytea_output: 'hex',
  standard_conforming_strings: 'on',
  // Pooled connections and the listening one are idle most of the time.
  idle_session_timeout: '0',
  // Exists since version 17; our transactions end by the two limits that `prepareConnection` sets.
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
 * Applies all settings in one round trip, and skips those that the server does not have (such as
 * `jit`). An acknowledged write must survive a crash, or a request would be made twice. So a
 * `synchronous_commit` weaker than `local` is raised to `local`; any other value stays.
 * @param timeoutMs limit for one statement, and for the pause between two of a transaction; null:
 *   none.
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
  // Sent without a name: it runs once per connection, so its plan need not be kept.
  await client.query(statements.prepareConnection.text, [
    wanted.map(([name]) => name),
    wanted.map(([, value]) => value),
  ]);
}
