import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import type { Database } from '../../../../src/adapters/bmdb/pg/pool.ts';
import { statement } from '../../../../src/adapters/bmdb/pg/statement.ts';
import { codeOf, Locked, NothingToDo } from '../../../../src/domain/errors.ts';
import { PATIENCE } from '../../../support/patience.ts';
import { startBreakingProxy } from './breaking-proxy.ts';
import type { Mood } from './breaking-proxy.ts';
import { openPgDatabase, usePgServer } from './pg-harness.ts';
import { createMemMetrics } from '../../../doubles/mem-metrics.ts';
import type { MemMetrics } from '../../../doubles/mem-metrics.ts';

const server = usePgServer();
let db: Database;
let metrics: MemMetrics;
beforeEach(async () => {
  await server.clear();
  metrics = createMemMetrics();
  db = openPgDatabase({ url: server.url, poolMax: 2, timeoutMs: 240_000, metrics });
});
afterEach(() => db.close());

const sql = (text: string) => statement({ name: text.slice(0, 60), text: () => text });
const addMachine = statement({
  name: 'test-add-machine',
  text: () => 'INSERT INTO machines DEFAULT VALUES',
});
const counter = statement({
  name: 'test-counter',
  columns: { n: 'int8' },
  text: () => `SELECT permits_granted AS n FROM fleet_guard WHERE scope = 'counter'`,
});
const setCounter = statement({
  name: 'test-set-counter',
  params: { n: 'int8' },
  text: ({ n }) => `UPDATE fleet_guard SET permits_granted = ${n} WHERE scope = 'counter'`,
});
const settings = statement({
  name: 'test-settings',
  ...{ columns: { idle: 'text', statement: 'text' } },
  text: () =>
    `SELECT current_setting('idle_in_transaction_session_timeout') AS idle,
       current_setting('statement_timeout') AS statement`,
});
const machines = async () => (await server.sql.query('SELECT 1 FROM machines')).rowCount;

describe('a conflict that the server finds at COMMIT', () => {
  /** The first transactions that write a machine fail with these codes at COMMIT. */
  const refuseCommits = async (codes: readonly string[]) => {
    const raised = codes.map(
      (code, at) => `IF turn = ${at + 1} THEN RAISE 'conflict' USING ERRCODE = '${code}'; END IF;`,
    );
    await server.sql.query(
      `CREATE SEQUENCE turns;
       CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
         DECLARE turn bigint := nextval('turns');
         BEGIN ${raised.join(' ')} RETURN NULL; END $$;
       CREATE CONSTRAINT TRIGGER refuse AFTER INSERT ON machines
         DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION refuse()`,
    );
  };
  afterEach(() => server.sql.query('DROP FUNCTION refuse CASCADE; DROP SEQUENCE turns'));

  it('runs the whole transaction again', async () => {
    await refuseCommits(['40001', '40P01']);
    let runs = 0;
    const done = await db.transact({ doing: 'add a machine' }, async (q) => {
      runs += 1;
      await q.run(addMachine, {});
      return `run ${runs}`;
    });
    expect(done).toBe('run 3');
    expect(await machines()).toBe(1);
  });

  it('runs a self-committing statement again', async () => {
    await refuseCommits(['40001', '40P01']);
    await db.commit({ doing: 'add a machine' }, addMachine, {});
    expect(await machines()).toBe(1);
  });

  it('is reported as a conflict, and not as an unknown outcome, when it never ends', async () => {
    await refuseCommits(Array.from({ length: 60 }, () => '40001'));
    const call = db.transact({ doing: 'add a machine' }, (q) => q.run(addMachine, {}));
    await expect(call).rejects.toMatchObject({
      code: 'retry-exhausted',
      message: 'could not add a machine: conflicts, 50 attempts',
    });
  });
});

describe('a self-committing statement', () => {
  const add = () => db.commit({ doing: 'add a machine' }, addMachine, {});
  const behind = async (mood: Mood) => {
    const proxy = await startBreakingProxy(server.url);
    onTestFinished(() => proxy.close());
    await db.close();
    db = openPgDatabase({ url: proxy.url });
    await add();
    proxy.mood = mood;
    return proxy;
  };

  it.each([
    ['break before commit', 1],
    ['break after commit', 2],
  ] as const)('may have been executed when its connection breaks: %s', async (mood, there) => {
    await behind(mood);
    await expect(add()).rejects.toMatchObject({ code: 'ambiguous-commit' });
    expect(await machines()).toBe(there);
    await add();
    expect(await machines()).toBe(there + 1);
  });

  it('counts as not sent when there is no connection', async () => {
    const proxy = await behind('down');
    await vi.waitUntil(
      async () => codeOf(await add().catch((error: unknown) => error)) === 'unreachable',
      PATIENCE,
    );
    proxy.mood = 'through';
    expect(await machines()).toBe(1);
  });

  it('is not sent once its signal has aborted', async () => {
    const options = { doing: 'add a machine', signal: AbortSignal.abort() };
    await expect(db.commit(options, addMachine, {})).rejects.toMatchObject({ code: 'cancelled' });
    expect(await machines()).toBe(0);
  });

  it('waits for a lock no longer than its connection allows, and then does nothing', async () => {
    await db.close();
    db = openPgDatabase({ url: server.url, lockTimeoutMs: 50 });
    const other = await server.sql.connect();
    try {
      await other.query('BEGIN; LOCK TABLE machines');
      const refused = await add().catch((error: unknown) => error);
      expect(refused).toBeInstanceOf(Locked);
    } finally {
      await other.query('ROLLBACK');
      other.release();
    }
    expect(await machines()).toBe(0);
    await add();
    expect(await machines()).toBe(1);
  });

  it('is prepared again when its plan has become invalid', async () => {
    const look = statement({ name: 'test-look', text: () => 'SELECT * FROM machines' });
    await db.commit({ doing: 'look' }, look, {});
    await server.sql.query('ALTER TABLE machines ADD COLUMN extra int');
    try {
      expect(await db.commit({ doing: 'look' }, look, {})).toEqual([]);
    } finally {
      await server.sql.query('ALTER TABLE machines DROP COLUMN extra');
    }
  });
});

it('the server ends an abandoned transaction and a hanging statement', async () => {
  const expected = [{ idle: '4min', statement: '4min' }];
  expect(await db.once({ doing: 'look' }, settings, {})).toEqual(expected);
  expect(await db.transact({ doing: 'look' }, (q) => q.rows(settings, {}))).toEqual(expected);
});

describe('a transaction', () => {
  it('throws other errors unchanged, and rolls back its writes', async () => {
    const reason = new Error('mine');
    const call = db.transact({ doing: 'test' }, async (q) => {
      await q.run(addMachine, {});
      throw reason;
    });
    await expect(call).rejects.toBe(reason);
    expect(await machines()).toBe(0);
  });

  it('reports a statement that took too long', async () => {
    const call = db.transact({ doing: 'test' }, async (q) => {
      await q.run(sql('SET statement_timeout = 1'), {});
      await q.run(sql('SELECT FROM pg_sleep(900)'), {});
    });
    await expect(call).rejects.toMatchObject({ code: 'timed-out' });
  });

  it('sees every one of many concurrent increments', async () => {
    await server.sql.query(`INSERT INTO fleet_guard (scope) VALUES ('counter')`);
    const increment = () =>
      db.transact({ doing: 'count' }, async (q) => {
        const [row] = await q.rows(counter, {});
        await q.run(setCounter, { n: Number(row!.n) + 1 });
      });
    await Promise.all(Array.from({ length: 20 }, increment));
    expect(await db.once({ doing: 'count' }, counter, {})).toEqual([{ n: '20' }]);
  });
});

const told = (of: RegExp) =>
  metrics.calls.flatMap(({ name, labels: { processor }, value }) => {
    const step = of.exec(name)?.[1];
    return step === undefined
      ? []
      : [step === 'attempts' ? `${processor} ${value}` : `${step} ${processor}`];
  });
const counted = () => told(/^bmdb_transaction_(\w+)$/);
/** Once per transaction, for any result. */
const attempts = () => told(/^shepherd_transaction_(attempts)$/);

describe('the metrics of transactions', () => {
  it('count a self-committing statement as a transaction', async () => {
    await db.commit({ doing: 'look', processor: 'bmsrv' }, sql('SELECT'), {});
    await expect(db.commit({ doing: 'look' }, sql('SELECT nothing'), {})).rejects.toThrow();
    expect(counted()).toEqual(['executed bmsrv', 'executed shepherd', 'failed shepherd']);
    expect(attempts()).toEqual(['bmsrv 1', 'shepherd 1']);
  });

  it('count a transaction under the processor that it runs for', async () => {
    await db.transact({ doing: 'look', processor: 'bmsrv' }, (q) => q.rows(sql('SELECT'), {}));
    await db.transact({ doing: 'look' }, (q) => q.rows(sql('SELECT'), {}));
    await db.once({ doing: 'look' }, sql('SELECT'), {});
    expect(counted()).toEqual(['executed bmsrv', 'executed shepherd', 'executed shepherd']);
  });

  it('count a refusal by the database as a failure, and a negative result as none', async () => {
    const options = { doing: 'try', processor: 'shepherd-recoverer' } as const;
    const refuse = () => Promise.reject(new NothingToDo('not now'));
    await expect(db.transact(options, refuse)).rejects.toThrow('not now');
    expect(counted()).toEqual(['executed shepherd-recoverer']);
    const broken = db.transact(options, (q) => q.rows(sql('SELECT 1/0'), {}));
    await expect(broken).rejects.toThrow('division by zero');
    expect(counted().slice(1)).toEqual([
      'executed shepherd-recoverer',
      'failed shepherd-recoverer',
    ]);
    await expect(db.once({ doing: 'try' }, sql('SELECT 2/0'), {})).rejects.toThrow(
      'division by zero',
    );
    expect(counted().slice(3)).toEqual(['executed shepherd', 'failed shepherd']);
  });

  it('count each attempt after a conflict as a retry', async () => {
    const conflict = sql(`DO $$ BEGIN RAISE '' USING ERRCODE = '40001'; END $$`);
    let tries = 0;
    await db.transact({ doing: 'try', processor: 'shepherd-initializer' }, async (q) => {
      tries += 1;
      if (tries < 3) await q.run(conflict, {});
    });
    const [first, ...others] = counted();
    expect(first).toBe('executed shepherd-initializer');
    expect(others).toEqual(['retried shepherd-initializer', 'retried shepherd-initializer']);
    expect(attempts()).toEqual(['shepherd-initializer 3']);
  });

  it('count endless conflicts as given up, once', async () => {
    const conflict = sql(`DO $$ BEGIN RAISE '' USING ERRCODE = '40P01'; END $$`);
    const deadlineMs = () => 0;
    const given = db.transact({ doing: 'try', deadlineMs }, (q) => q.run(conflict, {}));
    await expect(given).rejects.toThrow('no time left');
    expect(counted()).toEqual(['executed shepherd', 'failed shepherd']);
    expect(attempts()).toEqual(['shepherd 1']);
    expect(told(/^shepherd_transaction_(ambiguous)_total$/)).toEqual([]);
  });
});
