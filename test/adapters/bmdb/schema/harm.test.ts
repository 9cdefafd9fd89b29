import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { EmbeddedPostgres } from '../../../../src/adapters/bmdb/embedded/embedded-postgres.ts';
import { complaintsAboutHarm } from '../../../../src/adapters/bmdb/schema/harm.ts';
import { migrate } from '../../../../src/adapters/bmdb/schema/migrate.ts';
import { readStatus } from '../../../../src/adapters/bmdb/schema/status.ts';
import { silentLog } from '../../../../src/adapters/log/port.ts';
import { startTestPostgres } from '../../../support/postgres.ts';

let server: EmbeddedPostgres;
let sql: pg.Pool;
beforeAll(async () => {
  server = await startTestPostgres();
  sql = new pg.Pool({ connectionString: server.ownerUrl, max: 1 });
  sql.on('error', () => undefined);
  await migrate(server.ownerUrl, silentLog, { grantTo: server.role });
});
afterAll(async () => {
  await sql.end();
  await server.stop();
});

const POOL_MAX = 10;
const warnings = async (url = server.url) => (await readStatus(url, POOL_MAX)).warnings;
/** The tests' throw-away server is deliberately not durable. */
const beside = (all: readonly string[]) => all.filter((each) => !each.startsWith('fsync'));

test('C1: does not report settings that a daemon makes itself', async () => {
  for (const setting of ['jit = on', `TimeZone = 'Asia/Kathmandu'`, 'synchronous_commit = off']) {
    await sql.query(`ALTER ROLE ${server.role} SET ${setting}`);
  }
  const status = await readStatus(server.url, POOL_MAX);
  expect(status.server).toMatchObject({ jit: false, encoding: 'UTF8', neverAnalysed: [] });
  expect(beside(status.warnings)).toEqual([]);
});

test('C1: db status reports when the role may have too few connections', async () => {
  await sql.query(`ALTER ROLE ${server.role} CONNECTION LIMIT 12`);
  expect(beside(await warnings())).toEqual([
    expect.stringMatching(/may have 12 connections, and 1 daemon uses up to 16; .*poolMax/),
  ]);
  await sql.query(`ALTER ROLE ${server.role} CONNECTION LIMIT -1`);
});

test('C1: db status names tables without planner statistics, and a migration analyses them', async () => {
  await sql.query('ALTER SYSTEM SET autovacuum = off');
  await sql.query('SELECT pg_reload_conf()');
  await sql.query('TRUNCATE slot_holds');
  await sql.query(`INSERT INTO slot_holds (provider, slot_id, kind, set_by, reason)
    VALUES ('metal', 'rack-1', 'no-start', 'ann', 'inspection')`);
  expect(beside(await warnings())).toEqual([
    expect.stringMatching(/^autovacuum .* is off/),
    expect.stringMatching(/never analysed slot_holds, .*shepherd db migrate/),
  ]);
  await sql.query('ALTER SYSTEM RESET autovacuum');
  await sql.query('SELECT pg_reload_conf()');
  await migrate(server.ownerUrl, silentLog);
  expect(beside(await warnings())).toEqual([]);
});

test('C1: db status names a database with another encoding', async () => {
  await sql.query(`CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0 LOCALE 'C'`);
  const url = Object.assign(new URL(server.ownerUrl), { pathname: '/latin' }).href;
  expect(beside(await warnings(url))).toContainEqual(expect.stringMatching(/encoding is LATIN1/));
});

const GOOD = {
  fsync: true,
  autovacuum: true,
  encoding: 'UTF8',
  jit: false,
  connections: 97,
  neverAnalysed: [],
};
test.each([
  ['nothing', {}, 1, null],
  ['fsync off', { fsync: false }, 1, /^fsync is off/],
  ['jit that cannot be switched off', { jit: true }, 1, /^jit stays on .*database\.url/],
  ['more daemons than connections', {}, 7, /97 connections, and 7 daemons use up to 112/],
  ['as many as fit', {}, 6, null],
])('C1: reports the harm of %s', (_, change, daemons, says) => {
  const found = complaintsAboutHarm({ ...GOOD, ...change }, { daemons, poolMax: POOL_MAX });
  expect(found).toEqual(says === null ? [] : [expect.stringMatching(says)]);
});
