import pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startEmbeddedPostgres } from '../../../../src/adapters/bmdb/embedded/embedded-postgres.ts';
import type { EmbeddedPostgres } from '../../../../src/adapters/bmdb/embedded/embedded-postgres.ts';
import { migrate, migrateDown } from '../../../../src/adapters/bmdb/schema/migrate.ts';
import { silentLog } from '../../../../src/adapters/log/port.ts';
import { codeOf, explain } from '../../../../src/domain/errors.ts';

let server: EmbeddedPostgres;
let sql: pg.Client;
beforeAll(async () => {
  server = await startEmbeddedPostgres({ log: silentLog });
});
afterAll(() => server.stop());
beforeEach(async () => {
  await migrate(server.ownerUrl, silentLog, { grantTo: server.role });
  sql = new pg.Client({ connectionString: server.ownerUrl });
  await sql.connect();
});
afterEach(async () => {
  await sql.query(`COMMENT ON DATABASE postgres IS NULL`);
  await sql.query(`TRUNCATE machines, provision_intents, sessions, provider_records CASCADE`);
  await sql.end();
});

const outcome = (name = 'postgres', url = server.ownerUrl) =>
  migrateDown(url, silentLog, name).then(
    () => 'gone',
    (error: unknown) => `${codeOf(error)}: ${explain(error)}`,
  );
const isThere = async () =>
  (await sql.query(`SELECT to_regclass('machines') IS NOT NULL AS yes`)).rows[0].yes as boolean;

const SESSION = `INSERT INTO sessions (session_component_name, session_runtime_info,
  session_interval_seconds, session_deadline) VALUES ('shepherd', 'host test', 5, now() + `;
const MACHINE = 'INSERT INTO machines DEFAULT VALUES';
const INTENT = `INSERT INTO provision_intents
  (witness, machine_id, provider, slot_id, hostname, session_id, state) VALUES
  (gen_random_uuid(), gen_random_uuid(), 'p', 's', 'h', gen_random_uuid(), `;
const RECORD = `INSERT INTO provider_records (provider, key, value, version)
  VALUES ('p', 'k', '1', 'v')`;
const MARK = `COMMENT ON DATABASE postgres IS 'throw-away'`;

describe('the undoing of all migrations', () => {
  it.each<[string, string[], RegExp]>([
    ['its name is not the one given', [], /usage: .*called "postgres", not "other"/],
    ['somebody is alive on it', [`${SESSION} interval '1 minute')`], /1 live sessions.*stop them/],
    ['somebody is alive on it, marked or not', [`${SESSION} '1 minute')`, MARK], /1 live sessions/],
    ['it records a machine', [MACHINE], /1 machines, 0 unfinished.*COMMENT ON DATABASE "postgres"/],
    ['a device may have been created', [`${INTENT} 'unresolved')`], /0 machines, 1 unfinished/],
    ['a driver claimed something at its vendor', [RECORD], /0 unfinished creations and 1 records/],
    [
      'the mark says something else',
      [MACHINE, `COMMENT ON DATABASE postgres IS 'not throw-away'`],
      /1 machines/,
    ],
  ])('is refused when %s', async (why, rows, says) => {
    for (const each of rows) await sql.query(each);
    expect(await outcome(why.startsWith('its name') ? 'other' : 'postgres')).toMatch(says);
    expect(await isThere()).toBe(true);
    // No lock or transaction is left.
    await migrate(server.ownerUrl, silentLog, { lockTimeoutMs: 500 });
  });

  it.each<[string, string[]]>([
    ['nothing is recorded', []],
    [
      'only the dead were there, and what is settled',
      [`${SESSION} '-1 s')`, `${INTENT} 'failed')`],
    ],
    ['it is marked, whatever it records', [MACHINE, `${INTENT} 'open')`, MARK]],
  ])('is done when %s', async (_, rows) => {
    for (const each of rows) await sql.query(each);
    expect(await outcome()).toBe('gone');
    expect(await isThere()).toBe(false);
    await migrate(server.ownerUrl, silentLog, { grantTo: server.role });
  });

  it('is not a right of the running role', async () => {
    expect(await outcome('postgres', server.url)).toMatch(/denied: .*may not change the schema/);
  });
});
