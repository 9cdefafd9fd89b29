import { runner } from 'node-pg-migrate';
import type pg from 'pg';
import { Denied, SchemaMismatch } from '../../../domain/errors.ts';
import type { Log } from '../../log/port.ts';
import { grantTo } from './grants.ts';
import { analyseTables } from './harm.ts';
import {
  appliedMigrations,
  DIRECTORY,
  knownMigrations,
  loadMigrations,
  TABLE,
  withClient,
} from './migrations.ts';
import { readPrivileges } from './privileges.ts';
import { compareSchema, complaintAbout, refuseForMigration } from './state.ts';
import type { SchemaState } from './state.ts';
import { refuseUnlessThrowAway } from './throw-away.ts';

export { latestMigration } from './migrations.ts';

/** A random number; all programs that change the schema of one database take this lock. */
const LOCK = 5_218_436_907_114_235n;
const LOCK_TIMEOUT_MS = 10_000;

export interface MigrateOptions {
  /** Role of the daemons: gets exactly the rights that they need. */
  readonly grantTo?: string | undefined;
  /** Limit of the wait for a table (10 s); a longer wait would block everybody who comes after. */
  readonly lockTimeoutMs?: number;
}

/**
 * Brings the schema up to date, sets the rights of a role, and has the server analyse new tables.
 * Does nothing if nothing is needed. Concurrent callers wait for each other (advisory lock). Each
 * migration is one transaction: an interrupted one leaves nothing, and those before it stay
 * complete. Needs the right to create tables.
 * @throws {SchemaMismatch} a newer program migrated the database, or an unknown one.
 * @throws {UsageError} nothing can be granted to that role.
 * @throws {TimedOut} somebody uses a table for too long; call again.
 * @throws {Unreachable}
 * @throws {Denied}
 */
export async function migrate(
  url: string,
  log: Log,
  { grantTo: role, lockTimeoutMs = LOCK_TIMEOUT_MS }: MigrateOptions = {},
): Promise<void> {
  await withClient(url, 'migrate the database', async (client) => {
    await lock(client, log, lockTimeoutMs);
    refuseForMigration(await readState(client));
    await refuseWeakRole(client);
    const done = await runner({ ...runnerOptions(client, log), direction: 'up' });
    if (done.length > 0) {
      log.info({ migrations: done.map((each) => each.name) }, 'database migrated');
    }
    if (role !== undefined) await grantTo(client, role);
    await analyseTables(client);
  });
}

/**
 * Undoes every migration in one transaction, and so deletes all data.
 * @param name of the database, as a confirmation.
 * @throws {UsageError} the database is not a throw-away one; the message says why.
 */
export async function migrateDown(url: string, log: Log, name: string): Promise<void> {
  await withClient(url, 'undo the migrations', async (client) => {
    await lock(client, log, LOCK_TIMEOUT_MS);
    const state = await readState(client);
    refuseForMigration(state);
    if (state.kind === 'empty') return;
    await refuseWeakRole(client);
    // The checks and the deletion are one transaction. The runner's own BEGIN only makes the server
    // warn, and its COMMIT or ROLLBACK ends the transaction.
    await client.query('BEGIN');
    await refuseUnlessThrowAway(client, name);
    const all = { direction: 'down', count: Infinity, singleTransaction: true } as const;
    await runner({ ...runnerOptions(client, log), ...all });
  });
}

/**
 * Checks whether this program can work with the database under this role.
 * @throws {SchemaMismatch} the schema is older or newer than this program, or the server is too
 *   old.
 * @throws {Denied} the role lacks rights. Both say what to do.
 */
export async function checkSchema(url: string): Promise<void> {
  await withClient(url, 'use the database', async (client) => {
    const old = await complaintAboutServer(client);
    const complaint = old ?? complaintAbout(await readState(client));
    if (complaint !== null) throw new SchemaMismatch(complaint);
    const { rows } = await client.query<{ me: string }>('SELECT current_user::text AS me');
    const { role, missing } = await readPrivileges(client, rows[0]!.me);
    if (missing.length > 0) throw new Denied(complaintAboutRights(role, missing));
  });
}

/** It is easy to name a daemon's role by mistake. */
async function refuseWeakRole(client: pg.ClientBase): Promise<void> {
  const { rows } = await client.query<{ me: string; may: boolean }>(
    `SELECT current_user::text AS me, coalesce(
       (SELECT pg_has_role(current_user, relowner, 'USAGE') FROM pg_class
        WHERE oid = to_regclass('public.${TABLE}')),
       has_schema_privilege('public', 'CREATE')) AS may`,
  );
  const { me, may } = rows[0]!;
  if (may) return;
  throw new Denied(
    `the role "${me}" may not change the schema; run this command as the role that owns the tables, ` +
      'or, the first time, as a role that may create some (--url gives another role)',
  );
}

/** Which rights a role lacks, with advice. */
export const complaintAboutRights = (role: string, missing: readonly string[]): string =>
  `the role "${role}" lacks rights (${some(missing)}); ` +
  `run "shepherd db migrate --grant-to ${role}" as the migrating role`;

const some = (names: readonly string[]) =>
  names.length > 5
    ? `${names.slice(0, 4).join(', ')} and ${names.length - 4} more`
    : names.join(', ');

/** Why the server's version is unsuitable; null if it is suitable. */
export async function complaintAboutServer(client: pg.ClientBase): Promise<string | null> {
  const { rows } = await client.query<{ number: string; version: string }>(
    `SELECT current_setting('server_version_num') AS number,
       current_setting('server_version') AS version`,
  );
  const { number, version } = rows[0]!;
  if (Number(number) >= 150_000) return null;
  return `the server is PostgreSQL ${version}; version 15 or later is needed`;
}

/** Reads and compares the migrations of a database. */
export const readState = async (client: pg.ClientBase): Promise<SchemaState> =>
  compareSchema(await appliedMigrations(client), await knownMigrations());

async function lock(client: pg.ClientBase, log: Log, timeoutMs: number): Promise<void> {
  const taken = await client.query<{ got: boolean }>(
    `SELECT pg_try_advisory_lock($1::bigint) AS got`,
    [String(LOCK)],
  );
  if (!taken.rows[0]!.got) {
    log.info({}, 'another program is changing the schema; waiting');
    await client.query(`SELECT pg_advisory_lock($1::bigint)`, [String(LOCK)]);
  }
  // From here on; the lock is released when the connection ends, however it ends.
  await client.query(`SET lock_timeout = ${timeoutMs}`);
}

const runnerOptions = (client: pg.Client, log: Log) => ({
  dbClient: client,
  dir: DIRECTORY,
  schema: 'public',
  migrationsTable: TABLE,
  migrationLoaderStrategies: [{ extensions: ['.sql'], loader: loadMigrations }],
  noLock: true,
  logger: {
    debug: (text: string) => log.debug({}, text),
    info: (text: string) => log.debug({}, text),
    warn: (text: string) => log.warn({}, text),
    error: (text: string) => log.error({}, text),
  },
});
