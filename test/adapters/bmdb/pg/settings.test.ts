import pg from 'pg';
import { Subject } from 'rxjs';
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { createDatabase } from '../../../../src/adapters/bmdb/pg/pool.ts';
import { prepareConnection } from '../../../../src/adapters/bmdb/pg/settings.ts';
import { statement } from '../../../../src/adapters/bmdb/pg/statement.ts';
import { createWakes } from '../../../../src/adapters/bmdb/pg/wakes.ts';
import { withClient } from '../../../../src/adapters/bmdb/schema/migrations.ts';
import type { Wake } from '../../../../src/adapters/bmdb/port.ts';
import { systemClock, systemRandom } from '../../../../src/adapters/clock/system-clock.ts';
import { silentLog } from '../../../../src/adapters/log/port.ts';
import { sources } from '../../../repo/sources.ts';
import { startOwnPgServer } from './pg-harness.ts';
import type { PgServer } from './pg-harness.ts';
import { PATIENCE } from '../../../support/patience.ts';

/** Settings that an administrator may have made for a role, a database or a server. */
const STRANGE: Readonly<Record<string, string>> = {
  jit: 'on',
  TimeZone: 'Asia/Kathmandu',
  DateStyle: 'SQL, DMY',
  IntervalStyle: 'iso_8601',
  extra_float_digits: '-3',
  bytea_output: 'escape',
  search_path: 'nowhere',
  standard_conforming_strings: 'off',
  default_transaction_isolation: 'serializable',
  default_transaction_deferrable: 'on',
  lock_timeout: '2ms',
  statement_timeout: '7s',
  idle_in_transaction_session_timeout: '1ms',
  idle_session_timeout: '1h',
  plan_cache_mode: 'force_custom_plan',
  synchronous_commit: 'off',
};
const OURS = {
  jit: 'off',
  TimeZone: 'UTC',
  DateStyle: 'ISO, MDY',
  IntervalStyle: 'postgres',
  extra_float_digits: '1',
  bytea_output: 'hex',
  search_path: 'public',
  standard_conforming_strings: 'on',
  default_transaction_isolation: 'read committed',
  default_transaction_deferrable: 'off',
  lock_timeout: '0',
  idle_session_timeout: '0',
  plan_cache_mode: 'auto',
  synchronous_commit: 'local',
};

let server: PgServer;
beforeAll(async () => {
  server = await startOwnPgServer();
  for (const role of ['shepherd', 'shepherd_owner']) {
    for (const [name, value] of Object.entries(STRANGE)) {
      await server.sql.query(`ALTER ROLE ${role} SET ${name} = ${pg.escapeLiteral(value)}`);
    }
  }
});
afterAll(() => server.stop());

const READ = `SELECT jsonb_object_agg(name, setting) AS settings FROM pg_settings
  WHERE name = ANY ('{${Object.keys(STRANGE).join(',')}}')`;
const read = statement({ name: 'settings', columns: { settings: 'jsonb' }, text: () => READ });
const asDaemon = { clock: systemClock, random: systemRandom, log: silentLog };

function open(byKeys: boolean) {
  const limits = { poolMax: 1, timeoutMs: 5_000 };
  const db = createDatabase({ ...asDaemon, ...limits, url: server.url, byKeys });
  onTestFinished(() => db.close());
  return db;
}

test('allows a role to have every one of these settings', async () => {
  const client = new pg.Client({ connectionString: server.url });
  client.on('error', () => undefined);
  await client.connect();
  onTestFinished(() => client.end());
  const { rows } = await client.query(READ);
  expect(rows[0].settings).toMatchObject({ jit: 'on', TimeZone: 'Asia/Kathmandu' });
});

test.each([
  ['for work', false, {}],
  ['for heartbeats', true, { plan_cache_mode: 'force_generic_plan' }],
])(
  'C1: gives a connection %s the settings that it needs, whatever its role has',
  async (...given) => {
    const [, byKeys, more] = given;
    const [row] = await open(byKeys).once({ doing: 'read settings' }, read, {});
    const timeouts = { statement_timeout: '5000', idle_in_transaction_session_timeout: '5000' };
    expect(row!.settings).toEqual({ ...OURS, ...timeouts, ...more });
  },
);

test('C1: gives the schema connection the same settings, except for the time limits', async () => {
  const settings = await withClient(server.ownerUrl, 'read settings', async (client) => {
    const { rows } = await client.query(READ);
    return rows[0].settings as unknown;
  });
  const timeouts = { statement_timeout: '0', idle_in_transaction_session_timeout: '0' };
  expect(settings).toEqual({ ...OURS, ...timeouts });
});

test('C1: keeps the connection for wakes alive under a limit on idle connections', async () => {
  await server.sql.query(`ALTER ROLE shepherd SET idle_session_timeout = '2s'`);
  const stopped$ = new Subject<void>();
  const deps = {
    ...asDaemon,
    url: server.url,
    mode: 'listen',
    timeoutMs: 5_000,
    stopped$,
  } as const;
  const heard: Wake[] = [];
  createWakes(deps).subscribe((wake) => heard.push(wake));
  onTestFinished(() => stopped$.next());
  await vi.waitUntil(() => heard.length > 0, PATIENCE);
  // Idle since later, so a limit that ends the connection for wakes has done so when this one ends.
  const plain = new pg.Client({ connectionString: server.url });
  plain.on('error', () => undefined);
  await plain.connect();
  await new Promise((resolve) => plain.once('end', resolve));
  const { rows } = await server.sql.query(
    `SELECT 1 FROM pg_stat_activity WHERE application_name = 'shepherd wakes'`,
  );
  expect({ open: rows.length, heard }).toEqual({ open: 1, heard: ['changed'] });
});

test.each(['on', 'remote_apply', 'local'])('C1: keeps synchronous_commit %s', async (value) => {
  const client = new pg.Client({ connectionString: server.ownerUrl });
  await client.connect();
  onTestFinished(() => client.end());
  await client.query(`SET synchronous_commit = ${value}`);
  await prepareConnection(client, null);
  const { rows } = await client.query(`SHOW synchronous_commit`);
  expect(rows[0].synchronous_commit).toBe(value);
});

/** The reason why a module connects without: it uses only a cluster that we created. */
const ON_OUR_OWN = ['emulators/sim/scenarios/audit.ts', 'src/adapters/bmdb/embedded/roles.ts'];
test('C1: opens no connection without these settings', () => {
  const connecting = sources('{src,emulators}/**/*.ts').filter(({ text }) =>
    /new pg\.(Client|Pool)/.test(text),
  );
  const careless = connecting.filter(({ text }) => !text.includes('prepareConnection('));
  expect(careless.map(({ path }) => path)).toEqual(ON_OUR_OWN);
});
