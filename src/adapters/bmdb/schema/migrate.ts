import { readdir } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { runner } from 'node-pg-migrate';
import pg from 'pg';
import { SchemaMismatch } from '../../../domain/errors.ts';
import type { Log } from '../../log/port.ts';
import { translate } from '../pg/errors.ts';

/** The `.sql` files lie beside this module, in the sources and in the published package alike. */
const DIRECTORY = fileURLToPath(new URL('./migrations', import.meta.url));
const TABLE = 'schema_migrations';

/**
 * Brings the schema up to date; does nothing when it is. Several callers at once wait for each
 * other (advisory lock of PostgreSQL). Needs the right to create tables.
 * @throws {SchemaMismatch} the database was migrated by a newer program.
 * @throws {Unreachable}
 */
export async function migrate(url: string, log: Log): Promise<void> {
  await withClient(url, 'migrate the database', async (client) => {
    await refuseNewer(client);
    const done = await runner({ ...options(client, log), direction: 'up' });
    if (done.length > 0) {
      log.info({ migrations: done.map((each) => each.name) }, 'database migrated');
    }
  });
}

/** Undoes every migration, and so deletes all data. For throw-away databases only. */
export async function migrateDown(url: string, log: Log): Promise<void> {
  await withClient(url, 'undo the migrations', async (client) => {
    await runner({ ...options(client, log), direction: 'down', count: Infinity });
  });
}

/** @throws {SchemaMismatch} the schema is older or newer than this program; says what to do. */
export async function checkSchema(url: string): Promise<void> {
  await withClient(url, 'check the schema of the database', async (client) => {
    const present = await refuseNewer(client);
    const missing = (await known()).filter((name) => !present.has(name));
    if (missing.length > 0) {
      const state = present.size === 0 ? 'has no schema yet' : 'is older than this program';
      throw new SchemaMismatch(
        `the database ${state} (missing: ${missing.join(', ')}); run "shepherd db migrate" first`,
      );
    }
  });
}

const options = (client: pg.Client, log: Log) => ({
  dbClient: client,
  dir: DIRECTORY,
  migrationsTable: TABLE,
  advisoryLockMode: 'wait' as const,
  logger: {
    debug: (text: string) => log.debug({}, text),
    info: (text: string) => log.debug({}, text),
    warn: (text: string) => log.warn({}, text),
    error: (text: string) => log.error({}, text),
  },
});

async function refuseNewer(client: pg.Client): Promise<Set<string>> {
  const present = await applied(client);
  const ours = new Set(await known());
  const unknown = [...present].filter((name) => !ours.has(name));
  if (unknown.length > 0) {
    throw new SchemaMismatch(
      `the database is newer than this program (it has: ${unknown.join(', ')}); ` +
        'run the version that migrated it, or a later one',
    );
  }
  return present;
}

/** Name of the newest migration that this program knows: the schema it works with. */
export async function latestMigration(): Promise<string> {
  return (await known()).at(-1) ?? 'none';
}

async function known(): Promise<string[]> {
  const files = await readdir(DIRECTORY);
  return files
    .filter((name) => name.endsWith('.sql'))
    .map((name) => name.slice(0, -'.sql'.length))
    .sort();
}

async function applied(client: pg.Client): Promise<Set<string>> {
  const found = await client.query<{ present: boolean }>(
    `SELECT to_regclass($1) IS NOT NULL AS present`,
    [TABLE],
  );
  if (!found.rows[0]?.present) return new Set();
  const rows = await client.query<{ name: string }>(`SELECT name FROM ${TABLE}`);
  return new Set(rows.rows.map((row) => row.name));
}

async function withClient<T>(url: string, doing: string, fn: (client: pg.Client) => Promise<T>) {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 10_000 });
  // A broken connection also fails the running query; the event must only not go unhandled.
  client.on('error', () => undefined);
  try {
    await client.connect();
    return await fn(client);
  } catch (error) {
    throw translate(error, doing);
  } finally {
    await client.end().catch(() => undefined);
  }
}
