import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import type { Bmdb } from '../../../../src/adapters/bmdb/port.ts';
import { machineId } from '../../../../src/domain/ids.ts';
import { machineRow, startedAt } from '../../../contracts/bmdb-rows.ts';
import { startWireCount, type WireCount } from '../../../support/wire-count.ts';
import { recordOf } from './beat-stand.ts';
import { insertMachine, openPgBmdb, startPgServer } from './pg-harness.ts';
import type { PgServer } from './pg-harness.ts';

/** What heartbeats cost the database, counted on the wire. */
let server: PgServer;
let wire: WireCount;
let bmdb: Bmdb;

beforeAll(async () => {
  server = await startPgServer();
});
afterAll(() => server.stop());
beforeEach(async () => {
  await server.clear();
  wire = await startWireCount(server.url);
  bmdb = openPgBmdb({
    url: wire.url,
    // What is prepared is prepared for all.
    poolMax: 1,
  });
});
afterEach(async () => {
  await bmdb.close();
  await wire.close();
});

const addMany = (count: number) =>
  Promise.all(
    Array.from({ length: count }, async () => {
      const row = machineRow(Date.now(), startedAt(Date.now() - 60_000));
      await insertMachine(server.sql, row);
      return recordOf(row.machineId, { bootId: randomUUID() });
    }),
  );

/** What was sent for a batch, all of which is accepted. */
async function costOf(batch: Awaited<ReturnType<typeof addMany>>) {
  wire.take();
  const outcomes = await bmdb.heartbeats.recordHeartbeats(batch);
  expect(new Set(outcomes.map(({ kind }) => kind))).toEqual(new Set(['accepted']));
  const { statements, parses, syncs, bytes, byName } = wire.take();
  return { statements, parses, syncs, bytes, names: Object.keys(byName) };
}

test('agents that have nothing to say take one statement, however many they are', async () => {
  const batch = await addMany(200);
  await costOf(batch);
  const [one, all] = [await costOf(batch.slice(0, 1)), await costOf(batch)];
  const once = { statements: 1, parses: 0, syncs: 1, names: ['heartbeats-beat'] };
  expect([one, all]).toMatchObject([once, once]);
  // A machine's id as text, and its key.
  expect((all.bytes - one.bytes) / 199).toBeLessThan(80);
  expect(one.bytes).toBeLessThan(250);
});

test('those that are heard for the first time take one transaction more', async () => {
  const [known, fresh] = [await addMany(20), await addMany(20)];
  await costOf(known);
  const cost = await costOf([...known, ...fresh]);
  expect(cost).toMatchObject({ statements: 5, parses: 0, syncs: 5 });
  expect(cost.names).toEqual([
    'heartbeats-beat',
    expect.stringMatching(/^BEGIN /),
    ...['heartbeats-admit', 'COMMIT'],
  ]);
});

test('strangers take one transaction more, too', async () => {
  const known = await addMany(2);
  await costOf(known);
  wire.take();
  await bmdb.heartbeats.recordHeartbeats([...known, recordOf(machineId(randomUUID()))]);
  expect(wire.take()).toMatchObject({ statements: 4, parses: 0 });
});
