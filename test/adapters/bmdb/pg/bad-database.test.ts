import pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { isAlive } from '../../../../src/adapters/bmdb/embedded/data-directory.ts';
import { startEmbeddedPostgres } from '../../../../src/adapters/bmdb/embedded/embedded-postgres.ts';
import { checkSchema } from '../../../../src/adapters/bmdb/schema/migrate.ts';
import type { Bmdb, BmdbSession } from '../../../../src/adapters/bmdb/port.ts';
import { silentLog } from '../../../../src/adapters/log/port.ts';
import { codeOf, explain, isRetryable } from '../../../../src/domain/errors.ts';
import { machineRow } from '../../../contracts/bmdb-rows.ts';
import { insertMachine, openPgBmdb, startOwnPgServer } from './pg-harness.ts';
import type { PgServer } from './pg-harness.ts';
import { createSmallDisk } from './small-disk.ts';
import type { SmallDisk } from './small-disk.ts';
import { PATIENCE } from '../../../support/patience.ts';

const SIGNAL = new AbortController().signal;
const DAY = 86_400_000;

let server: PgServer;
let disk: SmallDisk;
beforeAll(async () => {
  server = await startOwnPgServer();
  disk = await createSmallDisk(server.sql);
});
afterAll(async () => {
  await server.stop();
  await disk.remove();
});

let bmdb: Bmdb | undefined;
beforeEach(() => server.clear());
afterEach(async () => {
  await bmdb?.close();
  bmdb = undefined;
});

function open(url = server.url): Bmdb {
  bmdb = openPgBmdb({ url });
  return bmdb;
}
const openSession = (on = open()): Promise<BmdbSession> =>
  on.openSession({ component: 'shepherd', runtimeInfo: 'host test', intervalMs: DAY });

async function refusalOf(call: Promise<unknown>) {
  const error = await call.then(
    () => expect.fail('the call succeeded'),
    (reason: unknown) => reason,
  );
  return { code: codeOf(error), retryable: isRetryable(error), text: explain(error) };
}

/** The same address with one fault. */
const urlWith = (change: Partial<Pick<URL, 'username' | 'password' | 'pathname' | 'port'>>) =>
  Object.assign(new URL(server.url), change).href;
const SECRET = () => new URL(server.url).password;
/** Every message is one line with the action and the place, and never has the password. */
function expectClear(text: string, where = '@127.0.0.1:'): void {
  expect(text).toMatch(/^could not /);
  expect(text).toContain(where);
  expect(text).not.toContain('\n');
  expect(text).not.toContain(SECRET());
  expect(text).not.toContain('very-secret');
}

describe('an unusable database', () => {
  const denied = ['denied', false] as const;
  it.each<[string, () => string, readonly [code: string, retryable: boolean], RegExp]>([
    [
      'wrong password',
      () => urlWith({ password: 'very-secret' }),
      denied,
      /shepherd@127\.0\.0\.1:\d+\/postgres.*refused the role or its password.*database\.url/,
    ],
    [
      'unknown role',
      () => urlWith({ username: 'nobody' }),
      denied,
      /nobody@127\.0\.0\.1.*refused the role or its password.*database\.url/,
    ],
    [
      'no password given',
      () => urlWith({ password: '' }),
      denied,
      /requires a password; give one in database\.url/,
    ],
    [
      'unknown database',
      () => urlWith({ pathname: '/nowhere' }),
      ['not-found', false],
      /\/nowhere\): there is no such database; create it, or check database\.url/,
    ],
    [
      'a role that may not log in',
      () => urlWith({ username: 'pg_monitor' }),
      denied,
      /refused the role/,
    ],
    [
      'nobody there',
      () => urlWith({ port: '1' }),
      ['unreachable', true],
      /shepherd@127\.0\.0\.1:1\/postgres\): the database does not answer; check that it runs/,
    ],
    [
      'TLS asked of a server that speaks none',
      () => `${server.url}?sslmode=verify-full`,
      denied,
      /does not support TLS; check sslmode/,
    ],
  ])('%s', async (_, url, [code, retryable], says) => {
    for (const call of [() => checkSchema(url()), () => openSession(open(url()))]) {
      const refusal = await refusalOf(call());
      expect(refusal).toMatchObject({ code, retryable, text: expect.stringMatching(says) });
      expectClear(refusal.text);
    }
  });

  it('reports that the role has no connection left', async () => {
    await server.sql.query('ALTER ROLE shepherd CONNECTION LIMIT 0');
    try {
      const refusal = await refusalOf(openSession());
      expect(refusal).toMatchObject({ code: 'unreachable', retryable: true });
      expect(refusal.text).toMatch(/no connection left; lower database\.poolMax or raise/);
      expectClear(refusal.text);
    } finally {
      await server.sql.query('ALTER ROLE shepherd CONNECTION LIMIT -1');
    }
    await openSession(bmdb);
  });

  it('reports that no connection is left', async () => {
    const settings = await server.sql.query<{ max: number }>(
      `SELECT current_setting('max_connections')::int AS max`,
    );
    // One more than the server takes, so that the server refuses before the pool lets a caller wait.
    const max = settings.rows[0]!.max + 1;
    const crowd = new pg.Pool({ connectionString: server.url, max });
    crowd.on('error', () => undefined);
    const held: pg.PoolClient[] = [];
    async function fill() {
      try {
        for (;;) {
          const client = await crowd.connect();
          client.on('error', () => undefined);
          held.push(client);
        }
      } catch (error) {
        expect(error).toMatchObject({ code: '53300' });
        expect(held.length).toBeGreaterThan(max / 2);
      }
    }
    try {
      // A connection that another process just freed is used, too.
      const refusal = await vi.waitFor(async () => {
        await fill();
        await bmdb?.close();
        return refusalOf(openSession());
      }, PATIENCE);
      expect(refusal).toMatchObject({ code: 'unreachable', retryable: true });
      expect(refusal.text).toMatch(/no connection left; .*max_connections: /);
    } finally {
      for (const client of held) client.release(true);
      await crowd.end();
    }
    await vi.waitUntil(() => openSession(bmdb).then(Boolean, () => false), PATIENCE);
  });
});

describe('a database that cannot be written', () => {
  const sql = (text: string) => server.sql.query(text);

  it('reports a missing right on a table', async () => {
    const session = await openSession();
    await sql('REVOKE SELECT ON machine_recovery FROM shepherd');
    try {
      for (const call of [() => bmdb!.scan(SIGNAL), () => checkSchema(server.url)]) {
        const refusal = await refusalOf(call());
        expect(refusal).toMatchObject({ code: 'denied', retryable: false });
        expect(refusal.text).toMatch(
          /lacks .*--grant-to .*machine_recovery|machine_recovery.*--grant-to/,
        );
      }
      await session.poke();
    } finally {
      await sql('GRANT SELECT ON machine_recovery TO shepherd');
    }
    await bmdb!.scan(SIGNAL);
  });

  it('reports a missing table or column', async () => {
    const session = await openSession();
    for (const [away, back] of [
      ['ALTER TABLE work_backoff RENAME TO gone', 'ALTER TABLE gone RENAME TO work_backoff'],
      [
        'ALTER TABLE work_backoff RENAME COLUMN until TO gone',
        'ALTER TABLE work_backoff RENAME COLUMN gone TO until',
      ],
    ] as const) {
      await sql(away);
      const refusal = await refusalOf(bmdb!.scan(SIGNAL));
      await sql(back);
      expect(refusal).toMatchObject({ code: 'schema-mismatch', retryable: false });
      expect(refusal.text).toMatch(/does not match this program; run "shepherd db/);
      expectClear(refusal.text);
    }
    await session.poke();
  });

  it('waits while it is read-only', async () => {
    const session = await openSession();
    const row = machineRow(Date.now());
    await insertMachine(server.sql, row);
    await sql('ALTER ROLE shepherd SET default_transaction_read_only = on');
    await sql(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'shepherd'`);
    try {
      await vi.waitUntil(
        async () => !(await refusalOf(session.poke())).text.includes('terminat'),
        PATIENCE,
      );
      for (const call of [() => session.claim('UnitTest1', row.machineId), () => session.poke()]) {
        const refusal = await refusalOf(call());
        expect(refusal).toMatchObject({ code: 'unreachable', retryable: true });
        expect(refusal.text).toMatch(/the server is read-only; give the primary/);
        expectClear(refusal.text);
      }
    } finally {
      await sql('ALTER ROLE shepherd RESET default_transaction_read_only');
    }
    expect(session.signal.aborted).toBe(false);
    // A connection that proved read-only is not used again.
    const work = await session.claim('UnitTest1', row.machineId);
    await work.finish({ kind: 'nothing' });
  });

  it('writes nothing partially on a full disk and goes on later', async () => {
    const session = await openSession();
    const [row, other] = [machineRow(Date.now()), machineRow(Date.now())];
    await insertMachine(server.sql, row);
    await insertMachine(server.sql, other);
    await disk.fill();
    try {
      const refusal = await refusalOf(session.claim('UnitTest1', row.machineId));
      expect(refusal).toMatchObject({ code: 'unreachable', retryable: true });
      expect(refusal.text).toMatch(/the disk of the server is full; free space there: .*No space/);
      expectClear(refusal.text);
      // Operations that need no disk space continue.
      await session.poke();
      const { machines } = await bmdb!.scan(SIGNAL);
      expect(machines.flatMap((each) => each.work)).toEqual([]);
    } finally {
      await disk.empty();
    }
    const work = await session.claim('UnitTest1', row.machineId);
    await work.finish({ kind: 'nothing' });
    const { rows } = await server.sql.query(
      `SELECT machine_id AS id, event FROM work_history ORDER BY seq`,
    );
    expect(rows).toEqual(['Started', 'Finished'].map((event) => ({ id: row.machineId, event })));
    if (process.getuid?.() === 0 && process.platform === 'linux') expect(disk.isReal).toBe(true);
  });
});

it('reports that the server is stopping', async () => {
  const own = await startEmbeddedPostgres({ log: silentLog });
  const holder = new pg.Client({ connectionString: own.ownerUrl });
  holder.on('error', () => undefined);
  await holder.connect();
  const { rows } = await holder.query<{ text: string }>(
    `SELECT pg_read_file('postmaster.pid') AS text`,
  );
  const pid = Number.parseInt(rows[0]!.text, 10);
  // A smart shutdown: the server refuses new connections and waits for the present ones.
  process.kill(pid, 'SIGTERM');
  let refusal = await refusalOf(checkSchema(own.url));
  await vi.waitUntil(async () => {
    refusal = await refusalOf(checkSchema(own.url));
    return refusal.code === 'unreachable';
  }, PATIENCE);
  expect(refusal.retryable).toBe(true);
  expect(refusal.text).toMatch(/the server is starting or stopping; wait: .*shutting down/);
  await holder.end();
  await vi.waitUntil(async () => !(await isAlive(pid)), PATIENCE);
  await own.stop();
});
