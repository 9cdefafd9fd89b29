import pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { createPgBmdb } from '../../../../src/adapters/bmdb/pg/pg-bmdb.ts';
import { createDatabase } from '../../../../src/adapters/bmdb/pg/pool.ts';
import type { Database } from '../../../../src/adapters/bmdb/pg/pool.ts';
import { statement } from '../../../../src/adapters/bmdb/pg/statement.ts';
import type { Bmdb, BmdbSession } from '../../../../src/adapters/bmdb/port.ts';
import { systemClock, systemRandom } from '../../../../src/adapters/clock/system-clock.ts';
import { silentLog } from '../../../../src/adapters/log/port.ts';
import { codeOf } from '../../../../src/domain/errors.ts';
import type { MachineId } from '../../../../src/domain/ids.ts';
import { DEFAULT_BUDGET, DEFAULT_LOSS } from '../../../../src/domain/policy.ts';
import { KEY, machineRow, PROVIDER, providedOf, startedAt } from '../../../contracts/bmdb-rows.ts';
import { startBreakingProxy } from './breaking-proxy.ts';
import type { BreakingProxy, Mood } from './breaking-proxy.ts';
import { insertMachine, startPgServer } from './pg-harness.ts';
import type { PgServer } from './pg-harness.ts';
import { PATIENCE } from '../../../support/patience.ts';

const SIGNAL = new AbortController().signal;
const DAY = 86_400_000;

let server: PgServer;
let proxy: BreakingProxy;
let bmdb: Bmdb;
beforeAll(async () => {
  server = await startPgServer();
});
afterAll(() => server.stop());
beforeEach(async () => {
  await server.clear();
  proxy = await startBreakingProxy(server.url);
  bmdb = createPgBmdb({
    url: proxy.url,
    clock: systemClock,
    random: systemRandom,
    log: silentLog,
    loss: DEFAULT_LOSS,
    budget: DEFAULT_BUDGET,
    jitter: 0,
  });
});
afterEach(async () => {
  proxy.mood = 'through';
  await bmdb.close();
  await proxy.close();
});

const open = (intervalMs = DAY): Promise<BmdbSession> =>
  bmdb.openSession({ component: 'shepherd', runtimeInfo: 'host test', intervalMs });
const codeOfRefusal = (call: Promise<unknown>) =>
  call.then(
    () => expect.fail('the call succeeded'),
    (error: unknown) => codeOf(error),
  );
async function addMachine(): Promise<MachineId> {
  const row = machineRow(Date.now());
  await insertMachine(server.sql, row);
  return row.machineId;
}
async function historyOf(id: MachineId): Promise<string[]> {
  const { rows } = await server.sql.query<{ event: string }>(
    `SELECT event FROM work_history WHERE machine_id = $1 ORDER BY seq`,
    [id],
  );
  return rows.map((row) => row.event);
}

describe('a connection that breaks during COMMIT', () => {
  const MOODS: Mood[] = ['break before commit', 'break after commit'];

  it.each(MOODS)('of a claim: %s', async (mood) => {
    const session = await open();
    const id = await addMachine();
    proxy.mood = mood;
    const work = await session.claim('ShepherdAgentStart', id);
    expect(proxy.broken).toBe(1);
    expect(await historyOf(id)).toEqual(['Started']);
    expect((await bmdb.readMachine(id, SIGNAL)).row?.work[0]?.epoch).toBe(work.epoch);
    await work.finish({ kind: 'nothing' });
  });

  it.each(MOODS)('of a finish: %s', async (mood) => {
    const session = await open();
    const id = await addMachine();
    const work = await session.claim('ShepherdAgentStart', id);
    proxy.mood = mood;
    const change = { kind: 'agentStarted', publicKey: KEY, bootId: null, hostKey: null } as const;
    await work.finish({ ...change, warnings: [] });
    expect(proxy.broken).toBe(1);
    expect(await historyOf(id)).toEqual(['Started', 'Finished']);
    expect((await bmdb.readMachine(id, SIGNAL)).row?.agentStarted).not.toBeNull();
    expect(await codeOfRefusal(work.finish({ kind: 'nothing' }))).toBe('already-finished');
  });

  it.each(MOODS)('of an adoption: %s', async (mood) => {
    const session = await open();
    const slot = { provider: PROVIDER, slotId: 'reservation-1', hostname: 'm-1' };
    proxy.mood = mood;
    const { witness } = await session.intents.open(slot);
    proxy.mood = mood;
    const id = await session.intents.adopt(witness, providedOf('1'));
    expect(proxy.broken).toBe(2);
    const { machines, intents } = await bmdb.scan(SIGNAL);
    expect([machines.map((row) => row.machineId), intents]).toEqual([[id], []]);
  });
});

describe('a database that does not answer', () => {
  it('fails every call as unreachable, and leaves the session alive until its deadline', async () => {
    const session = await open();
    const id = await addMachine();
    proxy.mood = 'down';
    expect(await codeOfRefusal(session.claim('UnitTest1', id))).toBe('unreachable');
    expect(await codeOfRefusal(session.poke())).toBe('unreachable');
    expect(await codeOfRefusal(bmdb.scan(SIGNAL))).toBe('unreachable');
    expect(session.signal.aborted).toBe(false);
    proxy.mood = 'through';
    await session.poke();
    await (await session.claim('UnitTest1', id)).finish({ kind: 'nothing' });
  });

  it('leaves time for another poke, and ends the session when none gets through', async () => {
    const session = await open(1_000);
    proxy.mood = 'silent';
    expect(await codeOfRefusal(session.poke())).toBe('timed-out');
    expect(session.remainingMs()).toBeGreaterThan(100);
    await vi.waitUntil(() => session.signal.aborted, PATIENCE);
    expect(codeOf(session.signal.reason)).toBe('session-expired');
  });

  it('does not end the wakes', async () => {
    let wakes = 0;
    const subscription = bmdb.wakes$.subscribe(() => (wakes += 1));
    await vi.waitUntil(() => wakes === 1, PATIENCE);
    proxy.mood = 'down';
    proxy.mood = 'through';
    await vi.waitUntil(() => wakes === 2, PATIENCE);
    await addMachine();
    await vi.waitUntil(() => wakes > 2, PATIENCE);
    subscription.unsubscribe();
  });
});

describe('wakes', () => {
  it('are not sent for heartbeats and pokes, nor for statements that changed nothing', async () => {
    const session = await open();
    const row = machineRow(Date.now(), startedAt(Date.now()));
    await insertMachine(server.sql, row);
    const heard: string[] = [];
    const client = new pg.Client({ connectionString: server.url });
    await client.connect();
    client.on('notification', (each) => heard.push(each.payload || 'wake'));
    await client.query('LISTEN shepherd_wake');
    await session.poke();
    const beat = { machineId: row.machineId, publicKey: KEY, bootId: null };
    await bmdb.heartbeats.recordHeartbeats([beat]);
    await bmdb.heartbeats.recordHeartbeats([beat]);
    await session.releaseWork(row.machineId);
    await session.updateProvided(row.machineId, { status: 'Running' });
    expect(await codeOfRefusal(session.claim('ShepherdRecovery', row.machineId))).toBe(
      'nothing-to-do',
    );
    await server.sql.query(`SELECT pg_notify('shepherd_wake', 'marker')`);
    await vi.waitUntil(() => heard.includes('marker'), PATIENCE);
    expect(heard).toEqual(['marker']);
    await session.updateProvided(row.machineId, { status: 'Stopped' });
    await vi.waitUntil(() => heard.length === 2, PATIENCE);
    await client.end();
  });
});

const NOTHING = { params: {}, columns: {} };
const one = statement({ ...NOTHING, name: 'test-one', text: () => 'SELECT' });
const dream = statement({ ...NOTHING, name: 'test-dream', text: () => 'SELECT FROM pg_sleep(10)' });
const addAny = statement({
  ...NOTHING,
  name: 'test-add-any',
  text: () => 'INSERT INTO machines DEFAULT VALUES',
});
const anyMachine = statement({
  ...NOTHING,
  name: 'test-any-machine',
  text: () => 'SELECT FROM machines',
});
const counter = statement({
  name: 'test-counter',
  params: {},
  columns: { n: 'int8' },
  text: () => `SELECT permits_granted AS n FROM fleet_guard WHERE scope = 'counter'`,
});
const setCounter = statement({
  name: 'test-set-counter',
  params: { n: 'int8' },
  columns: {},
  text: ({ n }) => `UPDATE fleet_guard SET permits_granted = ${n} WHERE scope = 'counter'`,
});

describe('transact', () => {
  let db: Database;
  beforeEach(() => {
    const deps = { url: server.url, clock: systemClock, random: systemRandom, log: silentLog };
    db = createDatabase({ ...deps, poolMax: 2, timeoutMs: 2_000 });
  });
  afterEach(() => db.close());
  const conflict = (code: string) => Object.assign(new Error('conflict'), { code });

  it('repeats what conflicts', async () => {
    let runs = 0;
    const done = await db.transact({ doing: 'test' }, async (q) => {
      runs += 1;
      await q.run(one, {});
      if (runs === 1) throw conflict('40001');
      if (runs === 2) throw conflict('40P01');
      return 'done';
    });
    expect([done, runs]).toEqual(['done', 3]);
  });

  it('gives up at the deadline', async () => {
    const until = systemClock.monotonic() + 100;
    const call = db.transact({ doing: 'test', deadlineMs: () => until }, async () => {
      throw conflict('40001');
    });
    expect(await codeOfRefusal(call)).toBe('retry-exhausted');
  });

  it('throws other errors as they are, and undoes what was done', async () => {
    const reason = new Error('mine');
    const call = db.transact({ doing: 'test' }, async (q) => {
      await q.run(addAny, {});
      throw reason;
    });
    await expect(call).rejects.toBe(reason);
    expect(await db.rows('test', anyMachine, {})).toEqual([]);
  });

  it('limits the time of a statement', async () => {
    const call = db.transact({ doing: 'test' }, (q) => q.run(dream, {}));
    expect(await codeOfRefusal(call)).toBe('timed-out');
  });

  it('sees every increment of many at once', async () => {
    await server.sql.query(`INSERT INTO fleet_guard (scope) VALUES ('counter')`);
    const increment = () =>
      db.transact({ doing: 'count' }, async (q) => {
        const [row] = await q.rows(counter, {});
        await q.run(setCounter, { n: Number(row!.n) + 1 });
      });
    await Promise.all(Array.from({ length: 20 }, increment));
    const rows = await db.rows('count', counter, {});
    expect(rows).toEqual([{ n: '20' }]);
  });
});
