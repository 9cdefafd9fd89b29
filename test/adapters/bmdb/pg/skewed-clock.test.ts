import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { createPgBmdb } from '../../../../src/adapters/bmdb/pg/pg-bmdb.ts';
import type { Bmdb, BmdbSession } from '../../../../src/adapters/bmdb/port.ts';
import { systemClock, systemRandom } from '../../../../src/adapters/clock/system-clock.ts';
import type { Clock } from '../../../../src/adapters/clock/port.ts';
import { silentLog } from '../../../../src/adapters/log/port.ts';
import { codeOf } from '../../../../src/domain/errors.ts';
import { DEFAULT_BUDGET, DEFAULT_LOSS } from '../../../../src/domain/policy.ts';
import { KEY, MINUTE, machineRow, startedAt } from '../../../contracts/bmdb-rows.ts';
import { insertMachine, startPgServer } from './pg-harness.ts';
import type { PgServer } from './pg-harness.ts';
import { PATIENCE } from '../../../support/patience.ts';

const SIGNAL = new AbortController().signal;
const HOUR = 3_600_000;
const HOST = { component: 'shepherd', runtimeInfo: 'host test' };

let server: PgServer;
beforeAll(async () => {
  server = await startPgServer();
});
afterAll(() => server.stop());

/** What a daemon has whose machine shows the wrong time. Elapsed time is right. */
const wrongBy = (ms: number): Clock => ({ ...systemClock, now: () => systemClock.now() + ms });

const open = (clock: Clock): Bmdb =>
  createPgBmdb({
    url: server.url,
    clock,
    random: systemRandom,
    log: silentLog,
    jitter: 0,
    loss: DEFAULT_LOSS,
    budget: DEFAULT_BUDGET,
  });
const codeOfRefusal = (call: Promise<unknown>) =>
  call.then(
    () => expect.fail('the call succeeded'),
    (error: unknown) => codeOf(error),
  );
/** Seconds from the database's now, as the database counts. */
async function secondsFromNow(what: string): Promise<number> {
  const { rows } = await server.sql.query<{ s: number }>(
    `SELECT extract(epoch FROM (${what}) - now())::float8 AS s`,
  );
  return rows[0]!.s;
}

describe.each([
  ['an hour slow', -HOUR],
  ['an hour fast', HOUR],
])('a daemon whose clock is %s', (_, shiftMs) => {
  let wrong: Bmdb;
  let right: Bmdb;
  let session: BmdbSession;
  let rival: BmdbSession;
  beforeEach(async () => {
    await server.clear();
    [wrong, right] = [open(wrongBy(shiftMs)), open(systemClock)];
    session = await wrong.openSession({ ...HOST, intervalMs: 30_000 });
    rival = await right.openSession({ ...HOST, intervalMs: 30_000 });
  });
  afterEach(() => Promise.all([wrong.close(), right.close()]));

  const add = async (change?: Parameters<typeof machineRow>[1]) => {
    const row = machineRow(Date.now(), change);
    await insertMachine(server.sql, row);
    return row.machineId;
  };

  it('tells the time of the database', async () => {
    const { nowMs } = await wrong.scan(SIGNAL);
    expect(Math.abs(nowMs - Date.now())).toBeLessThan(10 * MINUTE);
  });

  it('has a session that lives as long as any other', async () => {
    const left = await secondsFromNow(
      `SELECT session_deadline FROM sessions WHERE session_id = '${session.sessionId}'`,
    );
    expect(left).toBeGreaterThan(0);
    expect(left).toBeLessThanOrEqual(30);
    expect(session.remainingMs()).toBeGreaterThan(0);
    expect(session.remainingMs()).toBeLessThanOrEqual(30_000);
    await session.poke();
    expect((await right.scan(SIGNAL)).sessions).toHaveLength(2);
    expect(await right.sweep()).toMatchObject({ sessions: 0, work: 0 });
    expect(await wrong.sweep()).toMatchObject({ sessions: 0, work: 0 });
  });

  it('loses it at its local deadline, and to the database when that says so', async () => {
    const short = await wrong.openSession({ ...HOST, intervalMs: 1_000 });
    await vi.waitUntil(() => short.signal.aborted, PATIENCE);
    expect(codeOf(short.signal.reason)).toBe('session-expired');
    await server.sql.query(
      `UPDATE sessions SET session_deadline = now() - interval '1 ms' WHERE session_id = $1`,
      [session.sessionId],
    );
    expect(await codeOfRefusal(session.poke())).toBe('session-expired');
  });

  it('excludes others, and is excluded', async () => {
    const [one, two] = [await add(), await add()];
    const work = await session.claim('ShepherdAgentStart', one);
    expect(await codeOfRefusal(rival.claim('ShepherdAgentStart', one))).toBe('work-conflict');
    const other = await rival.claim('ShepherdAgentStart', two);
    expect(await codeOfRefusal(session.claim('ShepherdAgentStart', two))).toBe('work-conflict');
    const started = await secondsFromNow(
      `SELECT min(work_started_at) FROM work WHERE session_id IS NOT NULL`,
    );
    expect(Math.abs(started)).toBeLessThan(60);
    await work.finish({ kind: 'nothing' });
    await other.finish({ kind: 'nothing' });
  });

  it('waits after a failure as long as others make it wait, and others as long', async () => {
    const id = await add();
    const work = await session.claim('ShepherdAgentStart', id);
    await work.fail({ initialMs: 10 * MINUTE, exponent: 1, maximumMs: 10 * MINUTE }, 'test');
    const wait = await secondsFromNow('SELECT until FROM work_backoff');
    expect(wait).toBeGreaterThan(9 * 60);
    expect(wait).toBeLessThanOrEqual(10 * 60);
    for (const each of [session, rival]) {
      expect(await codeOfRefusal(each.claim('ShepherdAgentStart', id))).toBe('nothing-to-do');
    }
    await server.sql.query(`UPDATE work_backoff SET until = now() - interval '1 s'`);
    await (await session.claim('ShepherdAgentStart', id)).cancel();
  });

  it('takes in heartbeats of now, and neither loses nor recovers a machine for them', async () => {
    const id = await add(startedAt(Date.now() - 40 * MINUTE));
    await wrong.heartbeats.recordHeartbeats([{ machineId: id, publicKey: KEY, bootId: null }]);
    const beat = await secondsFromNow('SELECT agent_heartbeat_at FROM machine_agent_heartbeat');
    expect(Math.abs(beat)).toBeLessThan(60);
    for (const each of [session, rival]) {
      expect(await codeOfRefusal(each.claim('ShepherdRecovery', id))).toBe('nothing-to-do');
    }
    await server.sql.query(
      `UPDATE machine_agent_heartbeat SET agent_heartbeat_at = now() - interval '11 min'`,
    );
    await (await session.claim('ShepherdRecovery', id)).cancel();
  });
});
