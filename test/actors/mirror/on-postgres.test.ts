import { asyncScheduler, NEVER } from 'rxjs';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { createMirror } from '../../../src/actors/mirror/mirror.ts';
import type { Mirror, MirrorOptions } from '../../../src/actors/mirror/mirror.ts';
import { createPgBmdb } from '../../../src/adapters/bmdb/pg/pg-bmdb.ts';
import type { WakesMode } from '../../../src/adapters/bmdb/pg/wakes.ts';
import type { Bmdb } from '../../../src/adapters/bmdb/port.ts';
import { systemClock, systemRandom } from '../../../src/adapters/clock/system-clock.ts';
import { silentLog } from '../../../src/adapters/log/port.ts';
import { slotOf } from '../../../src/domain/ids.ts';
import type { MachineRow } from '../../../src/domain/machine.ts';
import { DEFAULT_BUDGET, DEFAULT_LOSS } from '../../../src/domain/policy.ts';
import { insertMachine, startOwnPgServer } from '../../adapters/bmdb/pg/pg-harness.ts';
import type { PgServer } from '../../adapters/bmdb/pg/pg-harness.ts';
import { machineRow } from '../../contracts/bmdb-rows.ts';
import { runService, type FleetStandIn } from '../../support/fleet-stand-in.ts';
import { PATIENCE } from '../../support/patience.ts';

/** Longer than any test lasts. */
const NEVER_MS = 3_600_000;

let server: PgServer;
let bmdb: Bmdb;
let reads: { scans: number; changes: number };
let mirror: Mirror;
let fleet: FleetStandIn | undefined;

beforeAll(async () => {
  server = await startOwnPgServer();
});
afterAll(() => server.stop());
beforeEach(() => server.clear());
afterEach(async () => {
  fleet?.stop();
  await bmdb.close();
});

const begin = async (options: Partial<MirrorOptions>, wakes: WakesMode = 'listen') => {
  bmdb = createPgBmdb({
    url: server.url,
    clock: systemClock,
    random: systemRandom,
    log: silentLog,
    wakes,
    loss: DEFAULT_LOSS,
    budget: DEFAULT_BUDGET,
    jitter: 0,
  });
  reads = { scans: 0, changes: 0 };
  const counted: Bmdb = {
    ...bmdb,
    scan: (signal) => ((reads.scans += 1), bmdb.scan(signal)),
    changesSince: (cursor, signal) => ((reads.changes += 1), bmdb.changesSince(cursor, signal)),
  };
  mirror = createMirror({
    bmdb: counted,
    providers: new Map(),
    heard$: NEVER,
    loss: DEFAULT_LOSS,
    scheduler: asyncScheduler,
    scanMs: NEVER_MS,
    scanGapMs: 20,
    pollMs: null,
    listMs: NEVER_MS,
    clock: systemClock,
    random: systemRandom,
    log: silentLog,
    onFacts: () => undefined,
    onView: () => undefined,
    onVanished: () => undefined,
    ...options,
  });
  fleet = runService(mirror.service);
  await vi.waitUntil(() => mirror.lastScanAt() !== null, PATIENCE);
};
const add = async (): Promise<MachineRow> => {
  const row = machineRow(Date.now());
  await insertMachine(server.sql, row);
  return row;
};
const factsOf = ({ provided }: MachineRow) => {
  const { provider, providerId, reservationId } = provided!;
  return mirror.facts().get(slotOf(provider, { reservationId, id: providerId }));
};
const seen = (row: MachineRow) => vi.waitUntil(() => factsOf(row)?.row, PATIENCE);
/** Changes the row silently: without a wake or an entry in the feed. */
const moveSilently = async (row: MachineRow, location: string) => {
  const trigger = (verb: string) =>
    server.sql.query(`ALTER TABLE machine_provided ${verb} TRIGGER USER`);
  await trigger('DISABLE');
  await server.sql.query(
    `UPDATE machine_provided SET provider_location = $2 WHERE machine_id = $1`,
    [row.machineId, location],
  );
  await trigger('ENABLE');
};
const at = (row: MachineRow, location: string) =>
  vi.waitUntil(() => factsOf(row)?.row?.provided?.location === location, PATIENCE);

describe('the mirror on PostgreSQL', () => {
  test('hears of changes and reads only those', async () => {
    await begin({});
    const row = await add();
    await seen(row);
    expect(reads).toMatchObject({ scans: 1 });
    await server.sql.query(`DELETE FROM machine_provided WHERE machine_id = $1`, [row.machineId]);
    await vi.waitUntil(() => !factsOf(row), PATIENCE);
    expect(reads.scans).toBe(1);
  });

  test('heals a lost notification by its periodic scan', async () => {
    await begin({ scanMs: 500 });
    const row = await add();
    await seen(row);
    await moveSilently(row, 'la');
    await at(row, 'la');
    expect(reads.scans).toBeGreaterThan(1);
  });

  test('scans after the connection for notifications was cut', async () => {
    await begin({});
    const row = await add();
    await seen(row);
    await moveSilently(row, 'la');
    await server.sql.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
       WHERE application_name = 'shepherd wakes' AND datname = current_database()`,
    );
    await at(row, 'la');
    expect(reads.scans).toBe(2);
  });

  test('survives repeated cuts of all connections', async () => {
    await begin({});
    for (let times = 0; times < 3; times += 1) {
      await server.sql.query(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
         WHERE application_name IN ('shepherd', 'shepherd wakes') AND datname = current_database()`,
      );
      await seen(await add());
    }
  });

  test('polls where no notifications come', async () => {
    await begin({ pollMs: 100 }, 'poll');
    await seen(await add());
    expect(reads.scans).toBe(1);
    expect(reads.changes).toBeGreaterThan(0);
  });

  test('releases the work of a session that died silently', async () => {
    await begin({ pollMs: 100 });
    const row = await add();
    const session = await bmdb.openSession({
      component: 'shepherd',
      runtimeInfo: 'host test',
      intervalMs: 2_000,
    });
    await session.claim('ShepherdAgentStart', row.machineId);
    await vi.waitUntil(() => factsOf(row)?.row?.work.length === 1, PATIENCE);
    await vi.waitUntil(() => factsOf(row)?.row?.work.length === 0, PATIENCE);
    expect(mirror.sessions()).toEqual([]);
    expect(reads.scans).toBe(1);
  });
});
