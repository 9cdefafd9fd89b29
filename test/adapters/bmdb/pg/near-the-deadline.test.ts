import type { PoolClient } from 'pg';
import { beforeAll, expect, it, afterEach, beforeEach, describe } from 'vitest';
import { statements as cancelling } from '../../../../src/adapters/bmdb/pg/claims/cancel.ts';
import { statements as sessions } from '../../../../src/adapters/bmdb/pg/session.ts';
import type { Statement } from '../../../../src/adapters/bmdb/pg/statement.ts';
import { MINUTE, startedAt } from '../../../contracts/bmdb-rows.ts';
import { createMovedClock, type MovedClock } from '../../../support/moved-time.ts';
import {
  addMachine,
  claimStand,
  codeOfRefusal,
  holding,
  openOn,
  SIGNAL,
  untilBlocked,
  historyOf,
} from './claim-stand.ts';
import { openPgBmdb } from './pg-harness.ts';
import type { Bmdb } from '../../../../src/adapters/bmdb/port.ts';
import type { Clock } from '../../../../src/adapters/clock/port.ts';
import { codeOf } from '../../../../src/domain/errors.ts';

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

const INTERVAL_MS = 60_000;

let bmdb: Bmdb | null = null;
afterEach(async () => {
  await bmdb?.close();
  bmdb = null;
});

const connect = (clock: Clock): Bmdb => openPgBmdb({ url: s.server.url, clock });
const open = () => openOn(bmdb!, INTERVAL_MS);

/** The database holds back its answer, while the local clock goes on by so much. */
const answeredLate = async <T>(
  lock: string,
  goOn: () => void,
  call: () => Promise<T>,
): Promise<T> => {
  const { answer } = await holding(s, lock, async () => {
    const called = call();
    // Whoever awaits it hears of a failure that comes before.
    called.catch(() => undefined);
    await untilBlocked(s, 1);
    goOn();
    return { answer: called };
  });
  return answer;
};

describe('the local deadline counts from the start', () => {
  const LATE_MS = 20_000;
  let clock: MovedClock;
  beforeEach(() => {
    clock = createMovedClock();
    bmdb = connect(clock);
  });
  const leap = () => clock.move(LATE_MS);

  it('of opening the session, however late the answer comes', async () => {
    const session = await answeredLate('LOCK TABLE sessions IN EXCLUSIVE MODE', leap, open);
    expect(session.remainingMs()).toBe(INTERVAL_MS - LATE_MS);
    await session.close();
  });

  it('of a poke, however late the answer comes', async () => {
    const session = await open();
    clock.move(LATE_MS);
    const row = `SELECT 1 FROM sessions WHERE session_id = '${session.sessionId}' FOR UPDATE`;
    // Half of what is left, so that the poke is not given up.
    await answeredLate(
      row,
      () => clock.move(LATE_MS - 1_000),
      () => session.poke(),
    );
    expect(session.remainingMs()).toBe(INTERVAL_MS - LATE_MS + 1_000);
    await session.close();
  });
});

it('a poke that is not answered leaves time for another one, and ends the session at its deadline', async () => {
  const session = await openOn(s.bmdb, INTERVAL_MS);
  s.proxy.mood = 'silent';
  const poked = codeOfRefusal(session.poke());
  s.clock.move(INTERVAL_MS / 2);
  expect(await poked).toBe('timed-out');
  expect(session.remainingMs()).toBe(INTERVAL_MS / 2);
  s.clock.move(INTERVAL_MS / 2);
  expect(codeOf(session.signal.reason)).toBe('session-expired');
  s.proxy.mood = 'down';
});

describe('an answer that is heard after the local deadline is refused', () => {
  let aheadMs: number;
  beforeEach(() => {
    aheadMs = 0;
    // As after a stop of the whole process: the answer is there before any timer has fired.
    const clock = createMovedClock();
    bmdb = connect({ ...clock, monotonic: () => clock.monotonic() + aheadMs });
  });
  const stopped = () => void (aheadMs = INTERVAL_MS);

  it('of the release of a machine', async () => {
    const session = await open();
    const id = await addMachine(s);
    await session.claim('ShepherdAgentStart', id);
    const lease = `SELECT 1 FROM work WHERE machine_id = '${id}' FOR UPDATE`;
    const late = answeredLate(lease, stopped, () => session.releaseWork(id));
    expect(await codeOfRefusal(late)).toBe('session-expired');
    expect(session.signal.aborted).toBe(true);
    // It was the answer that came late: the database did as it was told.
    expect(await historyOf(s, id)).toEqual(['Started', 'Canceled released']);
  });

  it('of a note, so that nothing is asked of a provider on the strength of it', async () => {
    const session = await open();
    const id = await addMachine(s);
    const work = await session.claim('ShepherdAgentStart', id);
    const lease = `SELECT 1 FROM work WHERE machine_id = '${id}' FOR UPDATE`;
    const late = answeredLate(lease, stopped, () => work.note({ kind: 'agentStartAttempt' }));
    expect(await codeOfRefusal(late)).toBe('session-expired');
    expect(await codeOfRefusal(session.poke())).toBe('session-expired');
  });
});
