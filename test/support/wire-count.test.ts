import pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { openTestDatabase, type TestDatabase } from './test-database.ts';
import { startWireCount, type WireCount } from './wire-count.ts';

let database: TestDatabase;
let wire: WireCount;
let client: pg.Client;

beforeAll(async () => {
  database = await openTestDatabase();
});
afterAll(() => database.stop());
beforeEach(async () => {
  wire = await startWireCount(database.url);
  client = new pg.Client({ connectionString: wire.url });
  await client.connect();
});
afterEach(async () => {
  await client.end();
  await wire.close();
});

test('connecting counts for nothing', () => {
  expect(wire.take()).toEqual({ statements: 0, parses: 0, syncs: 0, bytes: 0, byName: {} });
});

test('a simple query is one statement, whatever the number of its commands', async () => {
  const text = 'BEGIN; SELECT 1; COMMIT';
  await client.query(text);
  const bytes = 1 + 4 + text.length + 1;
  expect(wire.take()).toEqual({
    statements: 1,
    parses: 0,
    syncs: 1,
    bytes,
    byName: { [text]: { count: 1, bytes } },
  });
});

test('a statement with a name is prepared once, and counted by its name', async () => {
  const named = { name: 'sum', text: 'SELECT $1::int + 1 AS sum' };
  for (const value of [1, 2, 3]) {
    expect((await client.query({ ...named, values: [value] })).rows).toEqual([{ sum: value + 1 }]);
  }
  const sent = wire.take();
  expect(sent).toMatchObject({ statements: 3, parses: 1, syncs: 3, byName: { sum: { count: 3 } } });
  expect(Object.keys(sent.byName)).toEqual(['sum']);
  expect(sent.byName.sum!.bytes).toBeLessThan(sent.bytes);
  await client.query({ ...named, values: [4] });
  expect(wire.take()).toMatchObject({ statements: 1, parses: 0, byName: { sum: { count: 1 } } });
});

test('a statement without a name goes by its text', async () => {
  const text = 'SELECT $1::int AS one';
  await client.query(text, [1]);
  expect(wire.take()).toMatchObject({ statements: 1, parses: 1, byName: { [text]: { count: 1 } } });
});

test('what comes in pieces is counted whole, and of all connections', async () => {
  const other = new pg.Client({ connectionString: wire.url });
  await other.connect();
  const long = `SELECT '${'x'.repeat(1_000_000)}' AS it`;
  await Promise.all([client.query(long), other.query('SELECT 2')]);
  await other.end();
  const sent = wire.take();
  expect(sent.statements).toBe(2);
  expect(sent.byName[long]!.bytes).toBe(1 + 4 + long.length + 1);
});
