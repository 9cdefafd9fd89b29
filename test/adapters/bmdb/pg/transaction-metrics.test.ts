import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import type { Database } from '../../../../src/adapters/bmdb/pg/pool.ts';
import { statement } from '../../../../src/adapters/bmdb/pg/statement.ts';
import { createMemMetrics } from '../../../doubles/mem-metrics.ts';
import type { MemMetrics } from '../../../doubles/mem-metrics.ts';
import { NothingToDo } from '../../../../src/domain/errors.ts';
import { openPgDatabase, startPgServer } from './pg-harness.ts';
import type { PgServer } from './pg-harness.ts';

let server: PgServer;
let db: Database;
let metrics: MemMetrics;
beforeAll(async () => {
  server = await startPgServer();
});
afterAll(() => server.stop());
beforeEach(() => {
  metrics = createMemMetrics();
  db = openPgDatabase({ url: server.url, metrics });
});
afterEach(() => db.close());

const sql = (text: string) =>
  statement({ name: text.slice(0, 60), params: {}, columns: {}, text: () => text });
const told = (method: string) =>
  metrics.calls.filter((call) => call.method === method).map(({ args }) => args.join(' '));
const counted = () => told('transaction');
/** Once for each transaction, however it ended. */
const attempts = () => told('transactionAttempts');

test('a statement that commits by itself is counted as a transaction', async () => {
  await db.commit({ doing: 'look', processor: 'bmsrv' }, sql('SELECT'), {});
  await db.commit({ doing: 'look' }, sql('SELECT nothing'), {}).catch(() => undefined);
  expect(counted()).toEqual(['executed bmsrv', 'executed shepherd', 'failed shepherd']);
  expect(attempts()).toEqual(['bmsrv 1', 'shepherd 1']);
});

test('a transaction is counted for whom it is made', async () => {
  await db.transact({ doing: 'look', processor: 'bmsrv' }, (q) => q.rows(sql('SELECT'), {}));
  await db.transact({ doing: 'look' }, (q) => q.rows(sql('SELECT'), {}));
  await db.rows('look', sql('SELECT'), {});
  expect(counted()).toEqual(['executed bmsrv', 'executed shepherd', 'executed shepherd']);
});

test('what it finds out is no failure; what the database refuses is', async () => {
  const options = { doing: 'try', processor: 'shepherd-recoverer' } as const;
  const refuse = () => Promise.reject(new NothingToDo('not now'));
  await expect(db.transact(options, refuse)).rejects.toThrow('not now');
  expect(counted()).toEqual(['executed shepherd-recoverer']);
  const broken = db.transact(options, (q) => q.rows(sql('SELECT 1/0'), {}));
  await expect(broken).rejects.toThrow('division by zero');
  expect(counted().slice(1)).toEqual(['executed shepherd-recoverer', 'failed shepherd-recoverer']);
  await expect(db.rows('try', sql('SELECT 2/0'), {})).rejects.toThrow('division by zero');
  expect(counted().slice(3)).toEqual(['executed shepherd', 'failed shepherd']);
});

test('each attempt after a conflict is a retry', async () => {
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

test('conflicts without end are given up, once', async () => {
  const conflict = sql(`DO $$ BEGIN RAISE '' USING ERRCODE = '40P01'; END $$`);
  const deadlineMs = () => 0;
  const given = db.transact({ doing: 'try', deadlineMs }, (q) => q.run(conflict, {}));
  await expect(given).rejects.toThrow('no time left');
  expect(counted()).toEqual(['executed shepherd', 'failed shepherd']);
  expect(attempts()).toEqual(['shepherd 1']);
  expect(told('transactionAmbiguous')).toEqual([]);
});
