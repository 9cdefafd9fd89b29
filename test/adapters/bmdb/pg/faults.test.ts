import pg from 'pg';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Database } from '../../../../src/adapters/bmdb/pg/pool.ts';
import { statement } from '../../../../src/adapters/bmdb/pg/statement.ts';
import { codeOf } from '../../../../src/domain/errors.ts';
import { KEY, startedAt } from '../../../contracts/bmdb-rows.ts';
import { PATIENCE } from '../../../support/patience.ts';
import { addMachine, claimStand, codeOfRefusal, openOn, SIGNAL } from './claim-stand.ts';
import { openPgDatabase } from './pg-harness.ts';

const s = claimStand();
const MINUTE = 60_000;

describe('a database that does not answer', () => {
  it('fails every call as unreachable, and leaves the session alive until its deadline', async () => {
    const id = await addMachine(s);
    s.proxy.mood = 'down';
    expect(await codeOfRefusal(s.session.claim('UnitTest1', id))).toBe('unreachable');
    expect(await codeOfRefusal(s.session.poke())).toBe('unreachable');
    expect(await codeOfRefusal(s.bmdb.scan(SIGNAL))).toBe('unreachable');
    expect(s.session.signal.aborted).toBe(false);
    s.proxy.mood = 'through';
    await s.session.poke();
    await (await s.session.claim('UnitTest1', id)).finish({ kind: 'nothing' });
  });

  it('leaves time for another poke, and ends the session when none gets through', async () => {
    const session = await openOn(s.bmdb, MINUTE);
    s.proxy.mood = 'silent';
    const poked = codeOfRefusal(session.poke());
    s.clock.move(MINUTE / 2);
    expect(await poked).toBe('timed-out');
    expect(session.remainingMs()).toBe(MINUTE / 2);
    s.clock.move(MINUTE / 2);
    expect(codeOf(session.signal.reason)).toBe('session-expired');
    s.proxy.mood = 'down';
  });

  it('does not end the wakes', async () => {
    let wakes = 0;
    const subscription = s.bmdb.wakes$.subscribe(() => (wakes += 1));
    await vi.waitUntil(() => wakes === 1, PATIENCE);
    s.proxy.mood = 'down';
    s.proxy.mood = 'through';
    await vi.waitUntil(() => wakes === 2, PATIENCE);
    await addMachine(s);
    await vi.waitUntil(() => wakes > 2, PATIENCE);
    subscription.unsubscribe();
  });
});

describe('wakes', () => {
  it('are not sent for heartbeats and pokes, nor for statements that changed nothing', async () => {
    const { session } = s;
    const machineId = await addMachine(s, startedAt(Date.now()));
    const heard: string[] = [];
    const client = new pg.Client({ connectionString: s.server.url });
    s.clients.add(client);
    await client.connect();
    client.on('notification', (each) => heard.push(each.payload || 'wake'));
    await client.query('LISTEN shepherd_wake');
    await session.poke();
    const beat = { machineId, publicKey: KEY, bootId: null };
    await s.bmdb.heartbeats.recordHeartbeats([beat]);
    await s.bmdb.heartbeats.recordHeartbeats([beat]);
    await session.releaseWork(machineId);
    await session.updateProvided(machineId, { status: 'Running' });
    expect(await codeOfRefusal(session.claim('ShepherdRecovery', machineId))).toBe('nothing-to-do');
    await s.server.sql.query(`SELECT pg_notify('shepherd_wake', 'marker')`);
    await vi.waitUntil(() => heard.includes('marker'), PATIENCE);
    expect(heard).toEqual(['marker']);
    await session.updateProvided(machineId, { status: 'Stopped' });
    await vi.waitUntil(() => heard.length === 2, PATIENCE);
  });
});

const NOTHING = { params: {}, columns: {} };
const hurry = statement({
  ...NOTHING,
  name: 'test-hurry',
  text: () => 'SET statement_timeout = 1',
});
const dream = statement({
  ...NOTHING,
  name: 'test-dream',
  text: () => 'SELECT FROM pg_sleep(900)',
});
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
    db = openPgDatabase({ url: s.server.url, poolMax: 2 });
  });
  afterEach(() => db.close());

  it('throws other errors as they are, and undoes what was done', async () => {
    const reason = new Error('mine');
    const call = db.transact({ doing: 'test' }, async (q) => {
      await q.run(addAny, {});
      throw reason;
    });
    await expect(call).rejects.toBe(reason);
    expect(await db.rows('test', anyMachine, {})).toEqual([]);
  });

  it('tells of a statement that took too long', async () => {
    const call = db.transact({ doing: 'test' }, async (q) => {
      await q.run(hurry, {});
      await q.run(dream, {});
    });
    expect(await codeOfRefusal(call)).toBe('timed-out');
  });

  it('sees every increment of many at once', async () => {
    await s.server.sql.query(`INSERT INTO fleet_guard (scope) VALUES ('counter')`);
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
