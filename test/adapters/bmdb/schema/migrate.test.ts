import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { checkSchema, migrate, migrateDown } from '../../../../src/adapters/bmdb/schema/migrate.ts';
import { silentLog } from '../../../../src/adapters/log/port.ts';
import { codeOf, explain } from '../../../../src/domain/errors.ts';
import { startEmbeddedPostgres } from '../../../../src/adapters/bmdb/embedded/embedded-postgres.ts';
import type { EmbeddedPostgres } from '../../../../src/adapters/bmdb/embedded/embedded-postgres.ts';

let server: EmbeddedPostgres;
let sql: pg.Pool;
beforeAll(async () => {
  server = await startEmbeddedPostgres({ log: silentLog });
  sql = new pg.Pool({ connectionString: server.url, max: 1 });
});
afterAll(async () => {
  await sql.end();
  await server.stop();
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

describe('migrations', () => {
  it('go up, down, up and down again, and twice up is once', async () => {
    expect(await refusalOf(checkSchema(server.url))).toMatchObject({ code: 'schema-mismatch' });
    await migrate(server.url, silentLog);
    const all = await tables();
    expect(all).toContain('machine_provided');
    await migrate(server.url, silentLog);
    await checkSchema(server.url);
    await migrateDown(server.url, silentLog);
    expect(await tables()).toEqual(['schema_migrations']);
    const left = await sql.query(
      `SELECT typname FROM pg_type t JOIN pg_namespace n ON n.oid = t.typnamespace
       WHERE nspname = 'public' AND typtype = 'e'`,
    );
    expect(left.rows).toEqual([]);
    await migrate(server.url, silentLog);
    expect(await tables()).toEqual(all);
    await migrateDown(server.url, silentLog);
  });

  it('may be run by several programs at once', async () => {
    await Promise.all(Array.from({ length: 3 }, () => migrate(server.url, silentLog)));
    await checkSchema(server.url);
  });

  it('explain every table and every column', async () => {
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

  it('never count in numbers that overflow at 2^31', async () => {
    const { rows } = await sql.query(
      `SELECT table_name, column_name FROM information_schema.columns
       WHERE table_schema = 'public' AND data_type IN ('integer', 'smallint')
         AND table_name <> 'schema_migrations'`,
    );
    expect(rows).toEqual([]);
  });

  it('are compared with the database before it is used', async () => {
    await sql.query(`INSERT INTO schema_migrations (name, run_on) VALUES ('2999_later', now())`);
    const calls = [() => checkSchema(server.url), () => migrate(server.url, silentLog)];
    for (const call of calls) {
      const { code, text } = await refusalOf(call());
      expect(code).toBe('schema-mismatch');
      expect(text).toContain('newer than this program');
    }
    await sql.query(`DELETE FROM schema_migrations WHERE name = '2999_later'`);
    await sql.query(`DELETE FROM schema_migrations WHERE name LIKE '%wakes'`);
    const { code, text } = await refusalOf(checkSchema(server.url));
    expect(code).toBe('schema-mismatch');
    expect(text).toContain('older than this program');
  });

  it('say when the database cannot be had', async () => {
    const away = new URL(server.url);
    away.port = '1';
    expect((await refusalOf(checkSchema(away.href))).code).toBe('unreachable');
    const denied = new URL(server.url);
    denied.password = 'wrong';
    expect((await refusalOf(checkSchema(denied.href))).code).toBe('denied');
    const missing = new URL(server.url);
    missing.pathname = '/nowhere';
    expect((await refusalOf(checkSchema(missing.href))).code).toBe('not-found');
  });
});
