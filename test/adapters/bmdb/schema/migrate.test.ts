import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { startEmbeddedPostgres } from '../../../../src/adapters/bmdb/embedded/embedded-postgres.ts';
import type { EmbeddedPostgres } from '../../../../src/adapters/bmdb/embedded/embedded-postgres.ts';
import { checkSchema, migrate, migrateDown } from '../../../../src/adapters/bmdb/schema/migrate.ts';
import { DIRECTORY, knownMigrations } from '../../../../src/adapters/bmdb/schema/migrations.ts';
import { silentLog } from '../../../../src/adapters/log/port.ts';
import { codeOf, explain } from '../../../../src/domain/errors.ts';
import { PATIENCE } from '../../../support/patience.ts';

const NAME = 'migrations';
let server: EmbeddedPostgres;
let url: string;
let sql: pg.Pool;
beforeAll(async () => {
  server = await startEmbeddedPostgres({ log: silentLog });
  url = Object.assign(new URL(server.ownerUrl), { pathname: `/${NAME}` }).href;
});
afterAll(() => server.stop());
beforeEach(async () => {
  const owner = new pg.Client({ connectionString: server.ownerUrl });
  await owner.connect();
  await owner.query(`DROP DATABASE IF EXISTS ${NAME} WITH (FORCE)`);
  await owner.query(`CREATE DATABASE ${NAME}`);
  await owner.end();
  sql = new pg.Pool({ connectionString: url, max: 2 });
  sql.on('error', () => undefined);
  sql.on('connect', (client) => client.on('error', () => undefined));
  return () => sql.end();
});

const refusalOf = (call: Promise<unknown>) =>
  call.then(
    () => expect.fail('the call succeeded'),
    (error: unknown) => ({ code: codeOf(error), text: explain(error) }),
  );
const tables = async () => {
  const { rows } = await sql.query<{ name: string }>(
    `SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public' ORDER BY 1`,
  );
  return rows.map((row) => row.name);
};
const done = async () => {
  const { rows } = await sql.query<{ name: string }>(
    `SELECT name FROM schema_migrations ORDER BY id`,
  );
  return rows.map((row) => row.name);
};

/** The planner has no statistics of this table. */
const unknownTables = async () => {
  const { rows } = await sql.query<{ name: string }>(
    `SELECT relname AS name FROM pg_class
     WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' AND reltuples < 0`,
  );
  return rows.map((row) => row.name);
};

describe('migrations', () => {
  it('C1: leave no table without planner statistics', async () => {
    await migrate(url, silentLog);
    expect(await unknownTables()).toEqual([]);
    // As after the restore of a backup.
    await sql.query('TRUNCATE sessions, machines CASCADE');
    expect(await unknownTables()).toContain('machines');
    await migrate(url, silentLog);
    expect(await unknownTables()).toEqual([]);
  });

  it('go up, down, up and down again, and change nothing the second time', async () => {
    expect(await refusalOf(checkSchema(url))).toMatchObject({ code: 'schema-mismatch' });
    await migrate(url, silentLog);
    const all = await tables();
    expect(all).toContain('machine_provided');
    await migrate(url, silentLog);
    await checkSchema(url);
    await migrateDown(url, silentLog, NAME);
    expect(await tables()).toEqual(['schema_migrations']);
    const left = await sql.query(
      `SELECT typname AS name FROM pg_type t JOIN pg_namespace n ON n.oid = t.typnamespace
       WHERE nspname = 'public' AND typtype = 'e'
       UNION ALL SELECT proname FROM pg_proc WHERE pronamespace = 'public'::regnamespace`,
    );
    expect(left.rows).toEqual([]);
    await migrate(url, silentLog);
    expect(await tables()).toEqual(all);
    await migrateDown(url, silentLog, NAME);
    await migrateDown(url, silentLog, NAME);
  });

  it('may be run by several programs at once', async () => {
    await Promise.all(Array.from({ length: 3 }, () => migrate(url, silentLog)));
    await checkSchema(url);
    expect(await done()).toEqual(await knownMigrations());
  });

  it('wait while another program changes the schema', async () => {
    const holder = await sql.connect();
    await holder.query(`SELECT pg_advisory_lock(5218436907114235)`);
    const running = migrate(url, silentLog);
    await vi.waitUntil(async () => (await waiting('advisory')).length === 1, PATIENCE);
    await expect(done()).rejects.toMatchObject({ code: '42P01' });
    await holder.query(`SELECT pg_advisory_unlock_all()`);
    holder.release();
    await running;
    const left = await sql.query(`SELECT 1 FROM pg_locks WHERE locktype = 'advisory'`);
    expect(left.rows).toEqual([]);
    await checkSchema(url);
  });

  it('leave nothing of a failed migration, and continue when the cause is gone', async () => {
    await sql.query('CREATE TABLE machine_recovery (mine int)');
    await expect(migrate(url, silentLog)).rejects.toThrow(/machine_recovery/);
    const [first] = await knownMigrations();
    expect(await done()).toEqual([first]);
    expect(await tables()).not.toContain('machine_provided');
    await sql.query('DROP TABLE machine_recovery');
    await migrate(url, silentLog);
    await checkSchema(url);
  });

  it('leave nothing of an interrupted migration', async () => {
    await sql.query('CREATE TABLE machine_recovery (mine int)');
    await migrate(url, silentLog).catch(() => undefined);
    await sql.query('DROP TABLE machine_recovery');
    const holder = await sql.connect();
    await holder.query('BEGIN; LOCK TABLE machines IN ACCESS EXCLUSIVE MODE');
    const refused = refusalOf(migrate(url, silentLog));
    await vi.waitUntil(async () => (await waiting('relation')).length === 1, PATIENCE);
    await sql.query('SELECT pg_terminate_backend($1)', await waiting('relation'));
    expect((await refused).code).toBe('unreachable');
    await holder.query('ROLLBACK');
    holder.release();
    expect(await done()).toHaveLength(1);
    expect(await tables()).not.toContain('machine_provided');
    await migrate(url, silentLog);
    await checkSchema(url);
  });

  it('state how long other programs may use a table before the migration gives up', async () => {
    await sql.query('CREATE TABLE machine_recovery (mine int)');
    await migrate(url, silentLog).catch(() => undefined);
    await sql.query('DROP TABLE machine_recovery');
    const holder = await sql.connect();
    await holder.query('BEGIN; LOCK TABLE machines IN ACCESS EXCLUSIVE MODE');
    const { code, text } = await refusalOf(migrate(url, silentLog, { lockTimeoutMs: 200 }));
    expect(code).toBe('timed-out');
    expect(text).toMatch(/could not migrate the database.*lock timeout/);
    await holder.query('ROLLBACK');
    holder.release();
  });

  it('each state the program versions that work with their schema', async () => {
    const files = (await readdir(DIRECTORY)).filter((name) => name.endsWith('.sql'));
    const texts = await Promise.all(
      files.map((name) => readFile(path.join(DIRECTORY, name), 'utf8')),
    );
    expect(files.filter((_, at) => !/^-- Runs beside: \d+\.\d+\.\d+/m.test(texts[at]!))).toEqual(
      [],
    );
  });

  it('explain every table and every column', async () => {
    await migrate(url, silentLog);
    const { rows } = await sql.query<{ name: string }>(
      `SELECT c.relname || coalesce('.' || a.attname, '') AS name
       FROM pg_class c
         CROSS JOIN LATERAL (SELECT NULL::name AS attname, 0 AS attnum UNION ALL
           SELECT attname, attnum FROM pg_attribute
           WHERE attrelid = c.oid AND attnum > 0 AND NOT attisdropped) a
       WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r'
         AND c.relname <> 'schema_migrations' AND (CASE a.attnum
           WHEN 0 THEN obj_description(c.oid) ELSE col_description(c.oid, a.attnum) END) IS NULL`,
    );
    expect(rows.map((row) => row.name)).toEqual([]);
  });

  it('use no counter that overflows at 2^31', async () => {
    await migrate(url, silentLog);
    const { rows } = await sql.query(
      `SELECT table_name, column_name FROM information_schema.columns
       WHERE table_schema = 'public' AND data_type IN ('integer', 'smallint')
         AND table_name <> 'schema_migrations'`,
    );
    expect(rows).toEqual([]);
  });

  it('are compared with the database before the database is used', async () => {
    await migrate(url, silentLog);
    const cases: [change: string, says: RegExp, mayMigrate: boolean][] = [
      [
        `INSERT INTO schema_migrations (name, run_on) VALUES ('2999_later', now())`,
        /newer than/,
        false,
      ],
      [
        `DELETE FROM schema_migrations WHERE id = (SELECT max(id) FROM schema_migrations)`,
        /older than/,
        true,
      ],
      [`DELETE FROM schema_migrations WHERE name LIKE '%pools'`, /is dirty/, false],
      [
        `UPDATE schema_migrations SET name = '20251101000150_other' WHERE name LIKE '%guard'`,
        /is dirty/,
        false,
      ],
      [`UPDATE schema_migrations SET id = id + 100 WHERE name LIKE '%tags'`, /is dirty/, false],
      [
        `INSERT INTO schema_migrations (name, run_on) SELECT name, now() FROM schema_migrations LIMIT 1`,
        /is dirty/,
        false,
      ],
      ['DELETE FROM schema_migrations', /has no schema yet/, true],
    ];
    const kept = await sql.query<{ all: string }>(
      `SELECT string_agg(format('(%s,%L,%L)', id, name, run_on), ',' ORDER BY id) AS all
       FROM schema_migrations`,
    );
    for (const [change, says, mayMigrate] of cases) {
      await sql.query(change);
      const { code, text } = await refusalOf(checkSchema(url));
      expect([code, text]).toEqual(['schema-mismatch', expect.stringMatching(says)]);
      if (!mayMigrate) {
        const before = await done();
        expect(await refusalOf(migrate(url, silentLog))).toEqual({
          code,
          text: expect.stringMatching(says),
        });
        expect((await refusalOf(migrateDown(url, silentLog, NAME))).code).toBe('schema-mismatch');
        expect(await done()).toEqual(before);
      }
      await sql.query(`DELETE FROM schema_migrations`);
      await sql.query(`INSERT INTO schema_migrations VALUES ${kept.rows[0]!.all}`);
    }
    await checkSchema(url);
  });

  it('report when the database cannot be reached', async () => {
    const away = new URL(url);
    away.port = '1';
    expect((await refusalOf(checkSchema(away.href))).code).toBe('unreachable');
    const denied = new URL(url);
    denied.password = 'wrong';
    expect((await refusalOf(checkSchema(denied.href))).code).toBe('denied');
    const missing = new URL(url);
    missing.pathname = '/nowhere';
    expect((await refusalOf(checkSchema(missing.href))).code).toBe('not-found');
  });
});

/** Processes that wait for a lock of this kind. */
async function waiting(kind: 'advisory' | 'relation'): Promise<number[]> {
  const { rows } = await sql.query<{ pid: number }>(
    `SELECT pid FROM pg_locks WHERE locktype = $1 AND NOT granted`,
    [kind],
  );
  return rows.map((row) => row.pid);
}
