import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startEmbeddedPostgres } from '../../src/adapters/bmdb/embedded/embedded-postgres.ts';
import type { EmbeddedPostgres } from '../../src/adapters/bmdb/embedded/embedded-postgres.ts';
import { migrate } from '../../src/adapters/bmdb/schema/migrate.ts';
import { silentLog } from '../../src/adapters/log/port.ts';
import { shepherd } from './commands.ts';
import { metalIn } from '../config/examples.ts';

const dir = mkdtempSync(join(tmpdir(), 'shepherd-db-'));
let server: EmbeddedPostgres;
let password: string;
beforeAll(async () => {
  server = await startEmbeddedPostgres({ log: silentLog });
  ({ password } = new URL(server.url));
});
afterAll(async () => {
  await server.stop();
  rmSync(dir, { recursive: true, force: true });
});

/** A fresh database of its own, and statements to it. */
async function database(name: string) {
  await owner('postgres', `CREATE DATABASE ${name}`);
  return { name, sql: (text: string) => owner(name, text), url: urlOf('shepherd_owner', name) };
}
async function owner(name: string, text: string): Promise<void> {
  const client = new pg.Client({ connectionString: urlOf('shepherd_owner', name) });
  await client.connect();
  try {
    await client.query(text);
  } finally {
    await client.end();
  }
}
const urlOf = (role: string, name: string, secret?: string) =>
  Object.assign(new URL(role === 'shepherd_owner' ? server.ownerUrl : server.url), {
    username: role,
    pathname: `/${name}`,
    ...(secret !== undefined && { password: secret }),
  }).href;
/** As in a configuration: the password is a reference. */
const writtenUrl = (role: string, name: string) => {
  const { host } = new URL(server.url);
  const variable = role === 'shepherd_owner' ? 'OWNER_PASSWORD' : 'DB_PASSWORD';
  return `postgresql://${role}:\${${variable}}@${host}/${name}`;
};

let files = 0;
function configWith(databaseSection: object): string {
  const path = join(dir, `shepherd-${files++}.yaml`);
  const config = { database: databaseSection, ...metalIn(dir) };
  writeFileSync(path, JSON.stringify(config));
  return path;
}
const runWith = (config: string, args: string[], secret = password) =>
  shepherd([...args, '--config', config], {
    DB_PASSWORD: secret,
    METAL_TOKEN: 'none',
    OWNER_PASSWORD: new URL(server.ownerUrl).password,
  }).ended;
const db = (name: string, args: string[], secret = password) =>
  runWith(configWith({ url: writtenUrl('shepherd', name) }), ['db', ...args], secret);
const asOwner = (name: string) => ['--url', writtenUrl('shepherd_owner', name)];

/** One line that a person can act on: no stack, no secret. */
function expectOneLine(stderr: string, says: RegExp): void {
  const lines = stderr.split('\n').filter((line) => line !== '' && !line.startsWith('{'));
  expect(lines).toEqual([expect.stringMatching(says)]);
  expect(lines[0]).toMatch(/^shepherd: /);
  expect(stderr).not.toContain(password);
}

describe('the life of a database', () => {
  test('status, migrate, status, down', async () => {
    const { name, sql } = await database('life');

    const empty = await db(name, ['status']);
    expect(empty.code).toBe(1);
    expect(empty.stdout).toMatch(/NEEDS ACTION +the database has no schema yet; run "shepherd db/);

    const refused = await db(name, ['migrate']);
    expect(refused.code).toBe(1);
    expectOneLine(refused.stderr, /"shepherd" may not change the schema.*--url gives another role/);

    const migrated = await db(name, ['migrate', '--grant-to', 'shepherd', ...asOwner(name)]);
    expect(migrated).toMatchObject({ code: 0, stderr: '' });
    expect(migrated.stdout).toMatch(/^the schema is at \d+_[\w-]+; shepherd has the rights of a/);

    const again = db(name, ['migrate', '--grant-to', 'shepherd', ...asOwner(name)]);
    expect(await again).toMatchObject({ code: 0, stdout: migrated.stdout });

    await sql(`INSERT INTO machines DEFAULT VALUES; INSERT INTO sessions (session_component_name,
      session_runtime_info, session_interval_seconds, session_deadline)
      VALUES ('shepherd', 'host rack7', 5, now() + interval '1 hour')`);
    const [good, json, powerful] = await Promise.all([
      db(name, ['status']),
      db(name, ['status', '--json']),
      db(name, ['status', ...asOwner(name)]),
    ]);
    expect(good).toMatchObject({ code: 0, stderr: '' });
    expect(good.stdout).toMatch(/database +shepherd@127\.0\.0\.1:\d+\/life\n/);
    expect(good.stdout).toMatch(/server +PostgreSQL 1[5-9]/);
    expect(good.stdout).toMatch(/rights +shepherd has exactly the rights that a daemon needs\n/);
    expect(good.stdout).toMatch(/sessions +1 live\n +shepherd, host rack7, since 2/);
    expect(good.stdout).toMatch(/machines +1\n/);
    expect(json.stdout.trimEnd().split('\n')).toHaveLength(1);
    expect(JSON.parse(json.stdout)).toMatchObject({
      isGood: true,
      schema: { kind: 'current', pending: [], unknown: [] },
      rights: { role: 'shepherd', missing: [], excess: [] },
      sessions: [{ component: 'shepherd', runtimeInfo: 'host rack7' }],
      counts: { machines: 1, provided: 0 },
      problems: [],
    });
    expect(powerful.code).toBe(0);
    expect(powerful.stdout).toMatch(
      /warning +the role "shepherd_owner" has more rights.*superuser/,
    );

    const down = (...args: string[]) => db(name, ['down', ...args, ...asOwner(name)]);
    const refusals = await Promise.all([
      down(name),
      down('other', '--throw-away'),
      down(name, '--throw-away'),
    ]);
    const says = [/confirm with --throw-away/, /called "life", not "other"/, /1 live sessions/];
    for (const [at, { code, stderr }] of refusals.entries()) {
      expect(code).toBe(2);
      expectOneLine(stderr, says[at]!);
    }
    await sql('TRUNCATE sessions, machines CASCADE');
    expect(await down(name, '--throw-away')).toMatchObject({
      code: 0,
      stdout: 'the schema of the database life is removed\n',
    });
  });

  test('reads the embedded database only while a daemon runs', async () => {
    const config = configWith({ embedded: { dataDir: join(dir, 'never-made') } });
    const looks = [
      ['provider', 'sweep'],
      ['token', 'create', 'ann'],
    ];
    const changes = [['migrate'], ['status'], ['down', 'postgres', '--throw-away']];
    const run = (commands: string[][]) =>
      Promise.all(commands.map((args) => runWith(config, args)));
    const [looked, changed] = await Promise.all([
      run(looks),
      run(changes.map((args) => ['db', ...args])),
    ]);
    const expectRefused = (all: typeof looked, says: RegExp) => {
      for (const { code, stderr } of all) {
        expect(code).toBe(2);
        expectOneLine(stderr, says);
      }
    };
    expectRefused(
      looked,
      /uses the embedded database, which runs only in a daemon; start the daemon/,
    );
    expectRefused(
      changed,
      /uses the embedded database, which the daemon itself runs.*use "shepherd db" only with/,
    );
  });
});

interface Bad {
  readonly name: string;
  readonly spoil?: string;
  readonly secret?: string;
  readonly says: RegExp;
  /** `db status` shows it among its findings instead of failing. */
  readonly found?: boolean;
}

describe('a bad database is reported in one line, by the daemon and by db status', () => {
  const cases: Bad[] = [
    {
      name: 'wrong_password',
      secret: 'wrong',
      says: /refused the role or its password.*database\.url/,
    },
    {
      name: 'older_schema',
      spoil: `DELETE FROM schema_migrations WHERE name = (SELECT max(name) FROM schema_migrations)`,
      says: /older than this program \(it lacks: \d+_[a-z-]+\); run "shepherd db migrate"/,
      found: true,
    },
    {
      name: 'dirty_schema',
      spoil: `DELETE FROM schema_migrations WHERE name LIKE '%tags'`,
      says: /is dirty: no version leaves it like this/,
      found: true,
    },
    {
      name: 'no_rights',
      spoil: `REVOKE INSERT ON machines FROM shepherd`,
      says: /"shepherd" lacks rights \(INSERT on machines\); run "shepherd db migrate --grant-to/,
      found: true,
    },
  ];

  test.each(cases)('$name', async ({ name, spoil, secret, says, found }) => {
    const { sql, url } = await database(name);
    await migrate(url, silentLog, { grantTo: 'shepherd' });
    if (spoil !== undefined) await sql(spoil);
    const config = configWith({ url: writtenUrl('shepherd', name) });
    const [daemon, status] = await Promise.all([
      runWith(config, ['run'], secret),
      runWith(config, ['db', 'status'], secret),
    ]);
    expect([daemon.code, status.code]).toEqual([1, 1]);
    expectOneLine(daemon.stderr, says);
    if (found) expect(status.stdout).toMatch(says);
    else expectOneLine(status.stderr, says);
  });

  test('db status reports a read-only server', async () => {
    const { name, sql, url } = await database('read_only');
    await migrate(url, silentLog, { grantTo: 'shepherd' });
    await sql(`ALTER DATABASE read_only SET default_transaction_read_only = on`);
    const { code, stdout } = await db(name, ['status']);
    expect(code).toBe(1);
    expect(stdout).toMatch(/PostgreSQL [\d.]+, read-only\n/);
    expect(stdout).toMatch(/NEEDS ACTION +the server is read-only; a daemon needs the primary/);
  });
});
