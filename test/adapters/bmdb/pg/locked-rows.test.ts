import { createActor } from 'xstate';
import { describe, expect, it, vi } from 'vitest';
import { createSessionKeeper } from '../../../../src/actors/session-keeper.ts';
import { silentLog } from '../../../../src/adapters/log/port.ts';
import type { MachineId, SessionId } from '../../../../src/domain/ids.ts';
import type { IntentRow } from '../../../../src/domain/machine.ts';
import { PROVIDER, providedOf, startedAt } from '../../../contracts/bmdb-rows.ts';
import {
  claimStand,
  locking,
  openOn,
  refusedWith,
  SIGNAL,
  SOON_MS,
  sorted,
} from './claim-stand.ts';
import { STARTED, STEADY } from './claim-stand.ts';
import { PATIENCE } from '../../../support/patience.ts';

// Another transaction (an operator's, or of a stopped daemon) has locked one row.
const s = claimStand(SOON_MS);
const lease = (id: MachineId) => locking('work', id);
const claimAll = (ids: readonly MachineId[], session = s.session) =>
  Promise.all(ids.map((id) => session.claim('ShepherdAgentStart', id)));
const toldExpired = async (): Promise<string[]> => {
  const rows = await s.sql<{ id: string }>(
    `SELECT details ->> 'sessionId' AS id FROM fleet_events WHERE type = 'session.expired'`,
  );
  return rows.map(({ id }) => id).toSorted();
};
/** Longer ago than the janitor waits. */
const killLongAgo = (sessions: readonly { readonly sessionId: SessionId }[]) =>
  Promise.all(sessions.map((session) => s.expire(session, '1 day')));
const untilCount = (table: string, count: number) =>
  vi.waitUntil(async () => (await s.count(table)) === count, { ...PATIENCE, interval: 20 });
const untilHeld = (count: number) => untilCount('work WHERE session_id IS NOT NULL', count);
/** Locks waited for meanwhile, while time stands still. @returns the results of the calls. */
const behind = async <T>(
  lock: string,
  calls: () => Promise<T>[],
  until: () => Promise<unknown>,
) => {
  s.clock.runsOn = false;
  const { all } = await s.holding(lock, async () => {
    const all = sorted(calls());
    await until();
    return { all };
  });
  return all;
};

describe('ends of work with one locked row', () => {
  it('fail for that row only, which can be ended later', async () => {
    const ids = await s.addMany(20, { startAttempt: { atMs: Date.now(), count: 0, unreached: 0 } });
    const works = await claimAll(ids);
    const tag = locking('machine_agent_start_attempt', ids[7]!);
    await s.holding(tag, async () => {
      const { done, codes } = await sorted(works.map((work) => work.finish(STARTED)));
      expect([done.length, codes]).toEqual([19, ['timed-out']]);
      expect(await s.held()).toBe(1);
    });
    await works[7]!.fail(STEADY, 'somebody had locked it');
    expect(await s.history(ids[7]!)).toEqual(['Started', 'Failed somebody had locked it']);
  });

  it('succeed when the row is released', async () => {
    const ids = await s.addMany(20);
    const works = await claimAll(ids);
    const finishAll = () => works.map((work) => work.finish(STARTED));
    const { done, codes } = await behind(lease(ids[0]!), finishAll, () => untilHeld(1));
    expect([done.length, codes]).toEqual([20, []]);
  });

  it('do not wait for each of many rows', async () => {
    const ids = await s.addMany(60);
    const works = await claimAll(ids);
    const most = ids.slice(0, 40).map((id) => `'${id}'`);
    const { done, codes } = await behind(
      `SELECT 1 FROM work WHERE machine_id IN (${most.join()}) FOR UPDATE`,
      () => works.map((work) => work.finish(STARTED)),
      () => vi.waitUntil(async () => (await s.held()) < 60, PATIENCE),
    );
    expect(done.length).toBeGreaterThanOrEqual(20);
    expect(done.length + codes.length).toBe(60);
    expect(codes.filter((code) => code !== 'timed-out')).toEqual([]);
    expect(await s.held()).toBe(codes.length);
  });

  it('repeat a cancellation that failed', async () => {
    const ids = await s.addMany(20);
    const works = await claimAll(ids);
    await s.holding(lease(ids[3]!), async () => {
      await Promise.all(works.map((work) => work.cancel()));
      expect(await s.held()).toBe(1);
    });
    await works[3]!.cancel();
    expect(await s.history(ids[3]!)).toEqual(['Started', 'Canceled canceled']);
    expect(await refusedWith(works[3]!.finish(STARTED))).toBe('already-finished');
  });
});

it('lets others claim when one claim needs a locked row', async () => {
  const ids = await s.addMany(10);
  // An uncommitted lease of a group without rows.
  const inserting = `INSERT INTO work (machine_id, exclusion_group) VALUES ('${ids[2]}', 'UnitTest1')`;
  await s.holding(inserting, async () => {
    const { done, codes } = await sorted(ids.map((id) => s.session.claim('UnitTest1', id)));
    expect([done.length, codes]).toEqual([9, ['timed-out']]);
  });
});

describe('adoptions with one locked row', () => {
  const intent = (slotId: string) => `SELECT 1 FROM provision_intents
    WHERE slot_id = '${slotId}' FOR UPDATE`;
  const openAll = () =>
    Promise.all(
      Array.from({ length: 20 }, (_, at) =>
        s.session.intents.open({ provider: PROVIDER, slotId: `r${at}`, hostname: 'm' }),
      ),
    );
  const adopt = ({ witness, slotId }: IntentRow) =>
    s.session.intents.adopt(witness, providedOf(slotId, { reservationId: slotId }));

  it('fail for that row only, which can be adopted later', async () => {
    const intents = await openAll();
    await s.holding(intent('r7'), async () => {
      const { done, codes } = await sorted(intents.map(adopt));
      expect([done.length, codes]).toEqual([19, ['timed-out']]);
    });
    await adopt(intents[7]!);
    expect(await s.count('machines')).toBe(20);
  });

  it('succeed when the row is released', async () => {
    const intents = await openAll();
    const adoptAll = () => intents.map(adopt);
    const untilMost = () => untilCount('machines', 19);
    const { done, codes } = await behind(intent('r0'), adoptAll, untilMost);
    expect([done.length, codes]).toEqual([20, []]);
  });
});

describe('the sweep with locked rows', () => {
  it('skips a session with locked work and does the rest', async () => {
    const dead = [await openOn(s.other), await openOn(s.other)];
    const [one, two] = await s.addMany(2);
    await claimAll([one!], dead[0]);
    await claimAll([two!], dead[1]);
    await s.add({ ...startedAt(Date.now()), permit: true });
    await s.sql(`UPDATE recovery_permits SET granted_at = now() - interval '1 hour'`);
    await killLongAgo(dead);
    await s.holding(lease(one!), async () => {
      expect(await s.bmdb.sweep()).toMatchObject({ sessions: 1, work: 1, permits: 1 });
    });
    expect(await s.history(two!)).toEqual(['Started', 'Canceled session expired']);
    expect(await s.bmdb.sweep()).toMatchObject({ sessions: 1, work: 1 });
    expect(await s.count('sessions')).toBe(2);
    expect(await toldExpired()).toEqual(dead.map(({ sessionId }) => sessionId).toSorted());
  });

  it('does the other steps when one fails, and fails when all do', async () => {
    const dead = await openOn(s.other);
    await killLongAgo([dead]);
    await s.holding('LOCK TABLE recovery_permits', async () => {
      const swept = s.bmdb.sweep();
      await s.untilBlocked();
      await s.endBlocked();
      expect(await swept).toMatchObject({ sessions: 1, permits: 0 });
    });
    s.proxy.mood = 'down';
    expect(await refusedWith(s.bmdb.sweep())).toBe('unreachable');
    s.proxy.mood = 'through';
  });

  it('cancels work whose session was deleted', async () => {
    const id = await s.add();
    const gone = await openOn(s.other);
    await claimAll([id], gone);
    const kept = await s.add();
    await claimAll([kept]);
    await s.sql(`DELETE FROM sessions WHERE session_id = $1`, [gone.sessionId]);
    expect(await s.bmdb.sweep()).toMatchObject({ sessions: 0, work: 1 });
    expect(await s.history(id)).toEqual(['Started', 'Canceled session expired']);
    expect(await s.history(kept)).toEqual(['Started']);
  });
});

describe('a session closed while some of its work is locked', () => {
  it('releases the rest and is dead for everybody', async () => {
    const [locked, other] = await s.addMany(2);
    await claimAll([locked!, other!]);
    await s.holding(lease(locked!), async () => {
      const closed = refusedWith(s.session.close());
      await untilHeld(1);
      await (await s.rival.claim('ShepherdAgentStart', other!)).cancel();
      expect(await closed).toBe('timed-out');
    });
    const work = await s.rival.claim('ShepherdAgentStart', locked!);
    await work.finish(STARTED);
    expect(await s.history(locked!)).toEqual([
      ...['Started', 'Canceled session expired', 'Started', 'Finished'],
    ]);
    await killLongAgo([s.session]);
    expect(await s.bmdb.sweep()).toMatchObject({ sessions: 1 });
    expect(await toldExpired()).toEqual([]);
  });

  it('has expired if its deadline passed, reported once', async () => {
    const id = await s.add();
    await claimAll([id]);
    await killLongAgo([s.session]);
    await s.holding(lease(id), async () => {
      expect(await refusedWith(s.session.close())).toBe('timed-out');
    });
    await s.bmdb.sweep();
    expect(await toldExpired()).toEqual([s.session.sessionId]);
  });

  it('is closed as soon as possible', async () => {
    const id = await s.add();
    await claimAll([id]);
    const dead = async () => (await s.row(id)).work.length === 0;
    const close = () => [s.session.close()];
    await behind(lease(id), close, () => vi.waitUntil(dead, PATIENCE));
    expect(await s.history(id)).toEqual(['Started', 'Canceled session closed']);
    expect(await s.count('sessions')).toBe(1);
    expect(await toldExpired()).toEqual([]);
  });

  it('can be closed again by its keeper', async () => {
    const keeper = createSessionKeeper({
      bmdb: s.bmdb,
      component: 'shepherd',
      runtimeInfo: 'host test',
      log: silentLog,
    });
    const timing = { intervalMs: 3_600_000 } as never;
    createActor(keeper.services.openSession, { input: timing }).start();
    const session = await keeper.whenAlive(SIGNAL);
    const id = await s.add();
    await claimAll([id], session);
    await s.holding(lease(id), async () => {
      expect(await refusedWith(keeper.close())).toBe('timed-out');
      expect(keeper.current()).toBeNull();
    });
    await keeper.close();
    expect(await s.held()).toBe(0);
    expect(await s.count('sessions')).toBe(2);
  });
});
