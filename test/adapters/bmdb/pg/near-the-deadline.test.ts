import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { statements as cancelling } from '../../../../src/adapters/bmdb/pg/claims/cancel.ts';
import { statements as sessions } from '../../../../src/adapters/bmdb/pg/session.ts';
import type { Bmdb } from '../../../../src/adapters/bmdb/port.ts';
import { codeOf } from '../../../../src/domain/errors.ts';
import type { MachineId } from '../../../../src/domain/ids.ts';
import { MINUTE, startedAt } from '../../../contracts/bmdb-rows.ts';
import { createMovedClock, type MovedClock } from '../../../support/moved-time.ts';
import { claimStand, locking, lockingSession, openOn, refusedWith, STEADY } from './claim-stand.ts';
import { openPgBmdb } from './pg-harness.ts';

const s = claimStand();
const start = (id: MachineId, session = s.session) => session.claim('ShepherdAgentStart', id);

it('does not revive a session by an early renewal after its machines were lost', async () => {
  const id = await s.add();
  await start(id);
  const poker = await s.begin();
  await s.expire(s.session);
  const rival = await s.begin();
  const lost = await rival.query(cancelling.cancelDead.text, [[id], 'shepherd']);
  expect(lost.rows).toMatchObject([{ machine_id: id, released: true }]);
  const poke = poker.query(sessions.poke.text, [s.session.sessionId]);
  await rival.commit();
  expect((await poke).rows).toEqual([]);
});

it('keeps the machines of a session that is being extended', async () => {
  const { sessionId } = s.session;
  const id = await s.add();
  await start(id);
  await s.expire(s.session);
  const extend = `UPDATE sessions SET session_deadline = now() + interval '1 hour'
    WHERE session_id = '${sessionId}'`;
  const living = () =>
    s.count(`sessions WHERE session_id = '${sessionId}' AND session_deadline > now()`);
  await s.holding(extend, async () => {
    expect(await living()).toBe(0);
    expect(await refusedWith(start(id, s.rival))).toBe('work-conflict');
  });
  expect(await living()).toBe(1);
  expect(await refusedWith(start(id, s.rival))).toBe('work-conflict');
});

it('ends work although the database was away for a while', async () => {
  const id = await s.add();
  const work = await start(id);
  s.proxy.mood = 'down';
  s.proxy.refusesMax = 2;
  await work.finish({ kind: 'nothing' });
  expect(s.proxy.refused).toBe(2);
  expect((await s.row(id)).work).toEqual([]);
});

it('gives up work in time that cannot be ended, and ends it later', async () => {
  const work = await start(await s.add());
  s.proxy.mood = 'down';
  expect(await refusedWith(work.finish({ kind: 'nothing' }))).toBe('unreachable');
  expect(s.proxy.refused).toBeGreaterThan(5);
  s.proxy.mood = 'through';
  await work.fail(STEADY, 'the database was away');
});

it('repeats an unanswered renewal and ends the session at its deadline', async () => {
  const session = await openOn(s.bmdb, MINUTE);
  s.proxy.mood = 'silent';
  const poked = refusedWith(session.poke());
  s.clock.move(MINUTE / 2);
  expect(await poked).toBe('timed-out');
  expect(session.remainingMs()).toBe(MINUTE / 2);
  s.clock.move(MINUTE / 2);
  expect(codeOf(session.signal.reason)).toBe('session-expired');
  s.proxy.mood = 'down';
});

describe('an answer that comes after the local deadline', () => {
  const LATE_MS = 20_000;
  let clock: MovedClock;
  let aheadMs: number;
  let bmdb: Bmdb;
  /** Every writer of history waits at its COMMIT for the holder of that lock. */
  beforeAll(() =>
    s.sql(`CREATE FUNCTION stall() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        PERFORM set_config('lock_timeout', '0', true), pg_advisory_xact_lock(4712); RETURN NULL;
      END $$;
      CREATE CONSTRAINT TRIGGER stall AFTER INSERT ON work_history DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW EXECUTE FUNCTION stall()`),
  );
  beforeEach(() => {
    aheadMs = 0;
    clock = createMovedClock();
    const monotonic = () => clock.monotonic() + aheadMs;
    bmdb = openPgBmdb({ url: s.server.url, clock: { ...clock, monotonic } });
  });
  afterEach(() => bmdb.close());
  /** As after a stop of the whole process: the answer has arrived before any timer fires. */
  const stopped = () => void (aheadMs = MINUTE);

  it.each([
    ['ShepherdAgentStart', {}],
    ['ShepherdRecovery', startedAt(Date.now() - 40 * MINUTE)],
  ] as const)('is refused for a claim for %s', async (process, change) => {
    const id = await s.add(change);
    const session = await openOn(bmdb, MINUTE);
    const claim = () => refusedWith(session.claim(process, id));
    const claimed = await s.behind('SELECT pg_advisory_xact_lock(4712)', claim, stopped);
    expect(claimed).toBe('session-expired');
    expect(session.signal.aborted).toBe(true);
  });

  it('is refused for the release of a machine', async () => {
    const session = await openOn(bmdb, MINUTE);
    const id = await s.add();
    await start(id, session);
    const release = () => refusedWith(session.releaseWork(id));
    expect(await s.behind(locking('work', id), release, stopped)).toBe('session-expired');
    expect(session.signal.aborted).toBe(true);
    // The answer came late. The database did execute the call.
    expect(await s.history(id)).toEqual(['Started', 'Canceled released']);
  });

  it('is refused for a note, so that nothing is requested of a provider', async () => {
    const session = await openOn(bmdb, MINUTE);
    const id = await s.add();
    const work = await start(id, session);
    const note = () => refusedWith(work.note({ kind: 'agentStartAttempt' }));
    expect(await s.behind(locking('work', id), note, stopped)).toBe('session-expired');
    expect(await refusedWith(session.poke())).toBe('session-expired');
  });

  it('counts from the start of opening the session', async () => {
    const session = await s.behind(
      'LOCK TABLE sessions IN EXCLUSIVE MODE',
      () => openOn(bmdb, MINUTE),
      () => clock.move(LATE_MS),
    );
    expect(session.remainingMs()).toBe(MINUTE - LATE_MS);
    await session.close();
  });

  it('counts from the start of a renewal', async () => {
    const session = await openOn(bmdb, MINUTE);
    clock.move(LATE_MS);
    // Half of the remaining time, so that the poke is not given up.
    await s.behind(
      lockingSession(session),
      () => session.poke(),
      () => clock.move(LATE_MS - 1_000),
    );
    expect(session.remainingMs()).toBe(MINUTE - LATE_MS + 1_000);
    await session.close();
  });
});
