import type { PoolClient } from 'pg';
import { beforeAll, expect, it } from 'vitest';
import { statements as cancelling } from '../../../../src/adapters/bmdb/pg/claims/cancel.ts';
import { statements as sessions } from '../../../../src/adapters/bmdb/pg/session.ts';
import type { Statement } from '../../../../src/adapters/bmdb/pg/statement.ts';
import { MINUTE, startedAt } from '../../../contracts/bmdb-rows.ts';
import { createMovedClock } from '../../../support/moved-time.ts';
import {
  addMachine,
  claimStand,
  codeOfRefusal,
  holding,
  openOn,
  SIGNAL,
  untilBlocked,
} from './claim-stand.ts';
import { openPgBmdb } from './pg-harness.ts';

const s = claimStand();
const isAlive = async (sessionId: string): Promise<boolean> => {
  const { rows } = await s.server.sql.query<{ alive: boolean }>(
    `SELECT session_deadline > now() AS alive FROM sessions WHERE session_id = $1`,
    [sessionId],
  );
  return rows[0]!.alive;
};

/** Its deadline is over now, as the database has it. */
const letExpire = ({ sessionId }: { readonly sessionId: string }) =>
  s.server.sql.query(
    'UPDATE sessions SET session_deadline = clock_timestamp() WHERE session_id = $1',
    [sessionId],
  );

it('a poke that began in time does not bring back a session that lost its machines', async () => {
  const { session } = s;
  const id = await addMachine(s);
  await session.claim('ShepherdAgentStart', id);
  const [poker, rival] = [await s.server.sql.connect(), await s.server.sql.connect()];
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
  const { session, rival } = s;
  const id = await addMachine(s);
  await session.claim('ShepherdAgentStart', id);
  await letExpire(session);
  const other = await s.server.sql.connect();
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
  const { session } = s;
  const id = await addMachine(s);
  const work = await session.claim('ShepherdAgentStart', id);
  s.proxy.mood = 'down';
  s.proxy.refusesMax = 2;
  await work.finish({ kind: 'nothing' });
  expect(s.proxy.refused).toBe(2);
  expect((await s.bmdb.readMachine(id, SIGNAL)).row?.work).toEqual([]);
});

it('work that cannot be ended is given up in time, and can be ended later', async () => {
  const { session } = s;
  const work = await session.claim('ShepherdAgentStart', await addMachine(s));
  s.proxy.mood = 'down';
  expect(await codeOfRefusal(work.finish({ kind: 'nothing' }))).toBe('unreachable');
  expect(s.proxy.refused).toBeGreaterThan(5);
  s.proxy.mood = 'through';
  await work.fail({ initialMs: 1_000, exponent: 1, maximumMs: 0 }, 'the database was away');
});

/** Whoever writes history waits at its COMMIT for whoever has that lock. */
const STALL = `CREATE FUNCTION stall() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    PERFORM set_config('lock_timeout', '0', true), pg_advisory_xact_lock(4712); RETURN NULL;
  END $$;
  CREATE CONSTRAINT TRIGGER stall AFTER INSERT ON work_history DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION stall()`;
beforeAll(() => s.server.sql.query(STALL));

it.each([
  ['ShepherdAgentStart', {}],
  ['ShepherdRecovery', startedAt(Date.now() - 40 * MINUTE)],
] as const)(
  'a claim for %s that is answered too late is not handed out',
  async (process, change) => {
    const clock = createMovedClock();
    let lateMs = 0;
    const daemon = openPgBmdb({
      url: s.server.url,
      clock: { ...clock, monotonic: () => clock.monotonic() + lateMs },
    });
    const id = await addMachine(s, change);
    const session = await openOn(daemon, MINUTE);
    const { claimed } = await holding(s, 'SELECT pg_advisory_xact_lock(4712)', async () => {
      const claimed = codeOfRefusal(session.claim(process, id));
      await untilBlocked(s, 1);
      lateMs = MINUTE + 1;
      return { claimed };
    });
    expect(await claimed).toBe('session-expired');
    expect(session.signal.aborted).toBe(true);
    await daemon.close();
  },
);
