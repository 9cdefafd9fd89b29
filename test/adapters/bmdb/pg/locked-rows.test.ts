import { createActor } from 'xstate';
import { describe, expect, it, vi } from 'vitest';
import { createSessionKeeper } from '../../../../src/actors/session-keeper.ts';
import { silentLog } from '../../../../src/adapters/log/port.ts';
import type { MachineId, SessionId } from '../../../../src/domain/ids.ts';
import type { IntentRow } from '../../../../src/domain/machine.ts';
import { PROVIDER, providedOf, startedAt } from '../../../contracts/bmdb-rows.ts';
import {
  addMachine,
  addMachines,
  claimStand,
  codeOfRefusal,
  endBlocked,
  heldLeases,
  historyOf,
  holding,
  openOn,
  SIGNAL,
  SOON_MS,
  sorted,
  STARTED,
  untilBlocked,
} from './claim-stand.ts';
import { PATIENCE } from '../../../support/patience.ts';

// Somebody (an operator's transaction, a daemon that stopped in the middle) has locked one row.
const s = claimStand(SOON_MS);
const BACKOFF = { initialMs: 1_000, exponent: 2, maximumMs: 60_000 };

const lease = (id: MachineId) => `SELECT 1 FROM work WHERE machine_id = '${id}' FOR UPDATE`;
const claimAll = (ids: readonly MachineId[], session = s.session) =>
  Promise.all(ids.map((id) => session.claim('ShepherdAgentStart', id)));
const rowsOf = async (table: string): Promise<number> => {
  const { rows } = await s.server.sql.query(`SELECT 1 FROM ${table}`);
  return rows.length;
};
const toldExpired = async (): Promise<string[]> => {
  const { rows } = await s.server.sql.query<{ id: string }>(
    `SELECT details ->> 'sessionId' AS id FROM fleet_events WHERE type = 'session.expired'`,
  );
  return rows.map(({ id }) => id).toSorted();
};
/** Longer ago than the janitor waits. */
const killLongAgo = (sessions: readonly SessionId[]) =>
  s.server.sql.query(
    `UPDATE sessions SET session_interval_seconds = 1, session_deadline = now() - interval '1 day'
     WHERE session_id = ANY ($1)`,
    [sessions],
  );
const untilHeld = (count: number) =>
  vi.waitUntil(async () => (await heldLeases(s)) === count, { ...PATIENCE, interval: 20 });

describe('ends of works, of which one is locked', () => {
  it('fail for that one only, which can be ended later', async () => {
    const ids = await addMachines(s, 20, {
      startAttempt: { atMs: Date.now(), count: 0, unreached: 0 },
    });
    const works = await claimAll(ids);
    const tag = `SELECT 1 FROM machine_agent_start_attempt WHERE machine_id = '${ids[7]}' FOR UPDATE`;
    await holding(s, tag, async () => {
      const { done, codes } = await sorted(works.map((work) => work.finish(STARTED)));
      expect([done.length, codes]).toEqual([19, ['timed-out']]);
      expect(await heldLeases(s)).toBe(1);
    });
    await works[7]!.fail(BACKOFF, 'somebody had locked it');
    expect(await historyOf(s, ids[7]!)).toEqual(['Started', 'Failed somebody had locked it']);
  });

  it('go through once it is let go of', async () => {
    const ids = await addMachines(s, 20);
    const works = await claimAll(ids);
    s.clock.runsOn = false;
    const finished = await holding(s, lease(ids[0]!), async () => {
      const all = sorted(works.map((work) => work.finish(STARTED)));
      await untilHeld(1);
      return { all };
    });
    const { done, codes } = await finished.all;
    expect([done.length, codes]).toEqual([20, []]);
  });

  it('do not wait for each of many', async () => {
    const ids = await addMachines(s, 60);
    const works = await claimAll(ids);
    s.clock.runsOn = false;
    const most = ids.slice(0, 40).map((id) => `'${id}'`);
    const finished = await holding(
      s,
      `SELECT 1 FROM work WHERE machine_id IN (${most.join()}) FOR UPDATE`,
      async () => {
        const all = sorted(works.map((work) => work.finish(STARTED)));
        await vi.waitUntil(async () => (await heldLeases(s)) < 60, PATIENCE);
        return { all };
      },
    );
    const { done, codes } = await finished.all;
    expect(done.length).toBeGreaterThanOrEqual(20);
    expect(done.length + codes.length).toBe(60);
    expect(new Set(codes)).toEqual(codes.length > 0 ? new Set(['timed-out']) : new Set());
    expect(await heldLeases(s)).toBe(codes.length);
  });

  it('let a cancel that did not come through be made once more', async () => {
    const ids = await addMachines(s, 20);
    const works = await claimAll(ids);
    await holding(s, lease(ids[3]!), async () => {
      await Promise.all(works.map((work) => work.cancel()));
      expect(await heldLeases(s)).toBe(1);
    });
    await works[3]!.cancel();
    expect(await historyOf(s, ids[3]!)).toEqual(['Started', 'Canceled canceled']);
    expect(await codeOfRefusal(works[3]!.finish(STARTED))).toBe('already-finished');
  });
});

it('claims of which one needs a locked row are got by the others', async () => {
  const ids = await addMachines(s, 10);
  // An uncommitted lease of a group that has no rows yet.
  const inserting = `INSERT INTO work (machine_id, exclusion_group) VALUES ('${ids[2]}', 'UnitTest1')`;
  await holding(s, inserting, async () => {
    const { done, codes } = await sorted(ids.map((id) => s.session.claim('UnitTest1', id)));
    expect([done.length, codes]).toEqual([9, ['timed-out']]);
  });
});

describe('adoptions, of which one needs a locked row', () => {
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

  it('fail for that one only, which can be adopted later', async () => {
    const intents = await openAll();
    await holding(s, intent('r7'), async () => {
      const { done, codes } = await sorted(intents.map(adopt));
      expect([done.length, codes]).toEqual([19, ['timed-out']]);
    });
    await adopt(intents[7]!);
    expect(await rowsOf('machines')).toBe(20);
  });

  it('go through once it is let go of', async () => {
    const intents = await openAll();
    s.clock.runsOn = false;
    const adopted = await holding(s, intent('r0'), async () => {
      const all = sorted(intents.map(adopt));
      await vi.waitUntil(async () => (await rowsOf('machines')) === 19, PATIENCE);
      return { all };
    });
    const { done, codes } = await adopted.all;
    expect([done.length, codes]).toEqual([20, []]);
  });
});

describe('the sweep', () => {
  it('passes over a session with locked work, and does everything else', async () => {
    const dead = [await openOn(s.other), await openOn(s.other)];
    const [one, two] = await addMachines(s, 2);
    await claimAll([one!], dead[0]);
    await claimAll([two!], dead[1]);
    await addMachine(s, { ...startedAt(Date.now()), permit: true });
    await s.server.sql.query(`UPDATE recovery_permits SET granted_at = now() - interval '1 hour'`);
    await killLongAgo(dead.map(({ sessionId }) => sessionId));
    await holding(s, lease(one!), async () => {
      expect(await s.bmdb.sweep()).toMatchObject({ sessions: 1, work: 1, permits: 1 });
    });
    expect(await historyOf(s, two!)).toEqual(['Started', 'Canceled session expired']);
    expect(await s.bmdb.sweep()).toMatchObject({ sessions: 1, work: 1 });
    expect(await rowsOf('sessions')).toBe(2);
    expect(await toldExpired()).toEqual(dead.map(({ sessionId }) => sessionId).toSorted());
  });

  it('does the other steps when one fails, and fails when all do', async () => {
    const dead = await openOn(s.other);
    await killLongAgo([dead.sessionId]);
    await holding(s, 'LOCK TABLE recovery_permits', async () => {
      const swept = s.bmdb.sweep();
      await untilBlocked(s, 1);
      await endBlocked(s);
      expect(await swept).toMatchObject({ sessions: 1, permits: 0 });
    });
    s.proxy.mood = 'down';
    expect(await codeOfRefusal(s.bmdb.sweep())).toBe('unreachable');
    s.proxy.mood = 'through';
  });

  it('cancels work whose session somebody deleted', async () => {
    const id = await addMachine(s);
    const gone = await openOn(s.other);
    await claimAll([id], gone);
    const kept = await addMachine(s);
    await claimAll([kept]);
    await s.server.sql.query(`DELETE FROM sessions WHERE session_id = $1`, [gone.sessionId]);
    expect(await s.bmdb.sweep()).toMatchObject({ sessions: 0, work: 1 });
    expect(await historyOf(s, id)).toEqual(['Started', 'Canceled session expired']);
    expect(await historyOf(s, kept)).toEqual(['Started']);
  });
});

describe('a session that is closed while some of its work is locked', () => {
  it('lets go of the rest, and is dead for everybody', async () => {
    const [locked, other] = await addMachines(s, 2);
    await claimAll([locked!, other!]);
    await holding(s, lease(locked!), async () => {
      const closed = codeOfRefusal(s.session.close());
      await untilHeld(1);
      await (await s.rival.claim('ShepherdAgentStart', other!)).cancel();
      expect(await closed).toBe('timed-out');
    });
    const work = await s.rival.claim('ShepherdAgentStart', locked!);
    await work.finish(STARTED);
    expect(await historyOf(s, locked!)).toEqual([
      ...['Started', 'Canceled session expired', 'Started', 'Finished'],
    ]);
    await killLongAgo([s.session.sessionId]);
    expect(await s.bmdb.sweep()).toMatchObject({ sessions: 1 });
    expect(await toldExpired()).toEqual([]);
  });

  it('has expired where its deadline had passed before, and that is told once', async () => {
    const id = await addMachine(s);
    await claimAll([id]);
    await killLongAgo([s.session.sessionId]);
    await holding(s, lease(id), async () => {
      expect(await codeOfRefusal(s.session.close())).toBe('timed-out');
    });
    await s.bmdb.sweep();
    expect(await toldExpired()).toEqual([s.session.sessionId]);
  });

  it('is closed as soon as it can be', async () => {
    const id = await addMachine(s);
    await claimAll([id]);
    s.clock.runsOn = false;
    const closed = await holding(s, lease(id), async () => {
      const close = s.session.close();
      await vi.waitUntil(async () => {
        const row = (await s.other.readMachine(id, SIGNAL)).row!;
        return row.work.length === 0;
      }, PATIENCE);
      return { close };
    });
    await closed.close;
    expect(await historyOf(s, id)).toEqual(['Started', 'Canceled session closed']);
    expect(await rowsOf('sessions')).toBe(1);
    expect(await toldExpired()).toEqual([]);
  });

  it('can be closed once more by its keeper', async () => {
    const keeper = createSessionKeeper({
      bmdb: s.bmdb,
      component: 'shepherd',
      runtimeInfo: 'host test',
      log: silentLog,
    });
    const timing = { intervalMs: 3_600_000 } as never;
    createActor(keeper.services.openSession, { input: timing }).start();
    const session = await keeper.whenAlive(SIGNAL);
    const id = await addMachine(s);
    await claimAll([id], session);
    await holding(s, lease(id), async () => {
      expect(await codeOfRefusal(keeper.close())).toBe('timed-out');
      expect(keeper.current()).toBeNull();
    });
    await keeper.close();
    expect(await heldLeases(s)).toBe(0);
    expect(await rowsOf('sessions')).toBe(2);
  });
});
