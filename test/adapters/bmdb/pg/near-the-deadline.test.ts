import type { PoolClient } from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it, vi } from 'vitest';
import { statements as cancelling } from '../../../../src/adapters/bmdb/pg/claims/cancel.ts';
import { createPgBmdb } from '../../../../src/adapters/bmdb/pg/pg-bmdb.ts';
import { statements as sessions } from '../../../../src/adapters/bmdb/pg/session.ts';
import type { Statement } from '../../../../src/adapters/bmdb/pg/statement.ts';
import type { Bmdb } from '../../../../src/adapters/bmdb/port.ts';
import { systemClock, systemRandom } from '../../../../src/adapters/clock/system-clock.ts';
import { silentLog } from '../../../../src/adapters/log/port.ts';
import { codeOf } from '../../../../src/domain/errors.ts';
import { DEFAULT_BUDGET, DEFAULT_LOSS } from '../../../../src/domain/policy.ts';
import { MINUTE, machineRow, startedAt } from '../../../contracts/bmdb-rows.ts';
import { startBreakingProxy } from './breaking-proxy.ts';
import type { BreakingProxy } from './breaking-proxy.ts';
import { insertMachine, startPgServer } from './pg-harness.ts';
import type { PgServer } from './pg-harness.ts';
import { PATIENCE } from '../../../support/patience.ts';

const SIGNAL = new AbortController().signal;

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

const open = (intervalMs: number) =>
  bmdb.openSession({ component: 'shepherd', runtimeInfo: 'host test', intervalMs });
const codeOfRefusal = (call: Promise<unknown>) =>
  call.then(
    () => expect.fail('the call succeeded'),
    (error: unknown) => codeOf(error),
  );
const addMachine = async () => {
  const row = machineRow(Date.now());
  await insertMachine(server.sql, row);
  return row.machineId;
};
const isAlive = async (sessionId: string): Promise<boolean> => {
  const { rows } = await server.sql.query<{ alive: boolean }>(
    `SELECT session_deadline > now() AS alive FROM sessions WHERE session_id = $1`,
    [sessionId],
  );
  return rows[0]!.alive;
};

/** Its deadline is over now, as the database has it. */
const letExpire = ({ sessionId }: { readonly sessionId: string }) =>
  server.sql.query(
    'UPDATE sessions SET session_deadline = clock_timestamp() WHERE session_id = $1',
    [sessionId],
  );

it('a poke that began in time does not bring back a session that lost its machines', async () => {
  const session = await open(86_400_000);
  const id = await addMachine();
  await session.claim('ShepherdAgentStart', id);
  const [poker, rival] = [await server.sql.connect(), await server.sql.connect()];
  const run = (client: PoolClient, { text }: Statement, values: unknown[]) =>
    client.query(text, values);
  try {
    await poker.query('BEGIN');
    await poker.query('SELECT now()');
    await letExpire(session);
    await rival.query('BEGIN');
    const lost = await run(rival, cancelling.cancelDead, [[id], 'shepherd']);
    expect(lost.rows).toMatchObject([{ machine_id: id, released: true }]);
    const poke = run(poker, sessions.poke, [session.sessionId]);
    await rival.query('COMMIT');
    expect((await poke).rows).toEqual([]);
  } finally {
    await Promise.all([poker.query('ROLLBACK'), rival.query('ROLLBACK')]);
    poker.release();
    rival.release();
  }
});

it('a session that is being extended just now keeps its machines', async () => {
  const session = await open(86_400_000);
  const rival = await open(86_400_000);
  const id = await addMachine();
  await session.claim('ShepherdAgentStart', id);
  await letExpire(session);
  const other = await server.sql.connect();
  try {
    await other.query('BEGIN');
    await other.query(
      `UPDATE sessions SET session_deadline = now() + interval '1 hour' WHERE session_id = $1`,
      [session.sessionId],
    );
    expect(await isAlive(session.sessionId)).toBe(false);
    expect(await codeOfRefusal(rival.claim('ShepherdAgentStart', id))).toBe('work-conflict');
  } finally {
    await other.query('COMMIT');
    other.release();
  }
  expect(await isAlive(session.sessionId)).toBe(true);
  expect(await codeOfRefusal(rival.claim('ShepherdAgentStart', id))).toBe('work-conflict');
});

it('work ends although the database was out of reach for a while', async () => {
  const session = await open(30_000);
  const id = await addMachine();
  const work = await session.claim('ShepherdAgentStart', id);
  proxy.mood = 'down';
  const finished = work.finish({ kind: 'nothing' });
  await vi.waitUntil(() => proxy.refused > 1, PATIENCE);
  proxy.mood = 'through';
  await finished;
  expect((await bmdb.readMachine(id, SIGNAL)).row?.work).toEqual([]);
});

it('work that cannot be ended is given up in time, and can be ended later', async () => {
  const session = await open(86_400_000);
  const work = await session.claim('ShepherdAgentStart', await addMachine());
  proxy.mood = 'down';
  expect(await codeOfRefusal(work.finish({ kind: 'nothing' }))).toBe('unreachable');
  expect(proxy.refused).toBeGreaterThan(5);
  proxy.mood = 'through';
  await work.fail({ initialMs: 1_000, exponent: 1, maximumMs: 0 }, 'the database was away');
});

it.each([
  ['ShepherdAgentStart', {}],
  ['ShepherdRecovery', startedAt(Date.now() - 40 * MINUTE)],
] as const)(
  'a claim for %s that is answered too late is not handed out',
  async (process, change) => {
    const late = createLateClock();
    const daemon = createPgBmdb({
      url: server.url,
      clock: late.clock,
      random: systemRandom,
      log: silentLog,
      loss: DEFAULT_LOSS,
      budget: DEFAULT_BUDGET,
      jitter: 0,
    });
    const holder = await server.sql.connect();
    try {
      await server.sql.query(STALL);
      const row = machineRow(Date.now(), change);
      await insertMachine(server.sql, row);
      const session = await daemon.openSession({
        component: 'shepherd',
        runtimeInfo: 'host test',
        intervalMs: 60_000,
      });
      await holder.query('BEGIN; SELECT pg_advisory_xact_lock(4712)');
      const claimed = codeOfRefusal(session.claim(process, row.machineId));
      await vi.waitUntil(async () => {
        const { rows } = await server.sql.query(
          `SELECT 1 FROM pg_stat_activity 
         WHERE wait_event_type = 'Lock' AND datname = current_database()`,
        );
        return rows.length > 0;
      }, PATIENCE);
      late.byMs = 61_000;
      await holder.query('COMMIT');
      expect(await claimed).toBe('session-expired');
      expect(session.signal.aborted).toBe(true);
    } finally {
      await holder.query('ROLLBACK');
      holder.release();
      await server.sql.query('DROP FUNCTION IF EXISTS stall CASCADE');
      await daemon.close();
    }
  },
);

/** Whoever writes history waits at its COMMIT for whoever has that lock. */
const STALL = `CREATE FUNCTION stall() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    PERFORM set_config('lock_timeout', '0', true), pg_advisory_xact_lock(4712); RETURN NULL;
  END $$;
  CREATE CONSTRAINT TRIGGER stall AFTER INSERT ON work_history DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION stall()`;

function createLateClock() {
  const late = { byMs: 0 };
  const monotonic = () => systemClock.monotonic() + late.byMs;
  return Object.assign(late, { clock: { ...systemClock, monotonic } });
}
