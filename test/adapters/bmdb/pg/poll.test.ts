import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { createPgBmdb } from '../../../../src/adapters/bmdb/pg/pg-bmdb.ts';
import type { Bmdb } from '../../../../src/adapters/bmdb/port.ts';
import { systemClock, systemRandom } from '../../../../src/adapters/clock/system-clock.ts';
import { silentLog } from '../../../../src/adapters/log/port.ts';
import { DEFAULT_BUDGET, DEFAULT_LOSS } from '../../../../src/domain/policy.ts';
import { machineRow } from '../../../contracts/bmdb-rows.ts';
import { insertMachine, startOwnPgServer } from './pg-harness.ts';
import type { PgServer } from './pg-harness.ts';

const SIGNAL = new AbortController().signal;

let server: PgServer;
let bmdb: Bmdb;
beforeAll(async () => {
  server = await startOwnPgServer();
});
afterAll(() => server.stop());
beforeEach(() => {
  bmdb = createPgBmdb({
    url: server.url,
    clock: systemClock,
    random: systemRandom,
    log: silentLog,
    loss: DEFAULT_LOSS,
    budget: DEFAULT_BUDGET,
    wakes: 'poll',
  });
});

it('with wakes: poll nothing listens, and asking tells what changed', async () => {
  const heard: unknown[] = [];
  let ended = false;
  bmdb.wakes$.subscribe({ next: (wake) => heard.push(wake), complete: () => (ended = true) });
  const { cursor, machines } = await bmdb.scan(SIGNAL);
  expect(machines).toEqual([]);
  const row = machineRow(Date.now());
  await insertMachine(server.sql, row);
  const changes = await bmdb.changesSince(cursor!, SIGNAL);
  expect(changes?.machines.map((each) => each.machineId)).toEqual([row.machineId]);
  const { rows } = await server.sql.query(
    `SELECT 1 FROM pg_stat_activity WHERE usename = 'shepherd' AND query ILIKE 'LISTEN%'`,
  );
  expect(rows).toEqual([]);
  await bmdb.close();
  expect([heard, ended]).toEqual([[], true]);
});
