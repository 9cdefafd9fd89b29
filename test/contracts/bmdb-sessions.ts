import { describe, expect, it, vi } from 'vitest';
import type { BmdbSession } from '../../src/adapters/bmdb/port.ts';
import { codeOf } from '../../src/domain/errors.ts';
import type { MachineId } from '../../src/domain/ids.ts';
import { PROVIDER } from './bmdb-rows.ts';
import { SIGNAL, refusedWith } from './bmdb-stage.ts';
import type { BmdbStage } from './bmdb-stage.ts';
import { PATIENCE } from '../support/patience.ts';

export function sessionsContract(s: BmdbStage): void {
  const { add, openOn } = s;
  describe('sessions', () => {
    /** Claims and finishes work: a transaction that only a live session can make. */
    const transact = async (session: BmdbSession, id: MachineId) =>
      (await session.claim('UnitTest1', id)).finish({ kind: 'nothing' });

    it('can write at 0 s and at 72 s with renewals, and not 72 s after the last renewal', async () => {
      const id = await add();
      const short = await openOn(s.h.bmdb, 60_000);
      await transact(short, id);
      for (const _ of [30_000, 60_000]) {
        await s.h.pass(30_000);
        await short.poke();
      }
      await s.h.pass(12_000);
      await transact(short, id);
      await s.h.pass(60_000);
      expect(await refusedWith(transact(short, id))).toBe('session-expired');
      expect(short.signal.aborted).toBe(true);
      await short.close();
    });

    it('survive a failed renewal', async () => {
      const id = await add();
      const short = await openOn(s.h.bmdb, 60_000);
      await s.h.pass(30_000);
      await s.h.reachable(false);
      const failed = await refusedWith(short.poke());
      const { aborted } = short.signal;
      await s.h.reachable(true);
      expect([failed, aborted]).toEqual(['unreachable', false]);
      expect(short.remainingMs()).toBeLessThanOrEqual(30_000);
      await short.poke();
      expect(short.remainingMs()).toBeGreaterThan(30_000);
      await transact(short, id);
      await short.close();
    });

    it('expire: the signal aborts and every write is refused', async () => {
      const short = await openOn(s.h.bmdb, 60_000);
      const id = await add();
      const work = await short.claim('UnitTest1', id);
      await s.h.pass(60_001);
      await vi.waitUntil(() => short.signal.aborted, PATIENCE);
      expect(codeOf(short.signal.reason)).toBe('session-expired');
      expect(short.remainingMs()).toBe(0);
      expect(await refusedWith(short.poke())).toBe('session-expired');
      expect(await refusedWith(short.claim('UnitTest2', id))).toBe('session-expired');
      expect(await refusedWith(work.finish({ kind: 'nothing' }))).toBe('session-expired');
      expect(await refusedWith(short.releaseWork(id))).toBe('session-expired');
      expect(
        await refusedWith(short.intents.open({ provider: PROVIDER, slotId: 'r1', hostname: 'h1' })),
      ).toBe('session-expired');
      await short.close();
    });

    it('that died in the database notice it at the next write', async () => {
      const short = await openOn(s.h.bmdb, 60_000);
      await s.h.expireSession(short.sessionId);
      expect(await refusedWith(short.claim('UnitTest1', await add()))).toBe('session-expired');
      expect(short.signal.aborted).toBe(true);
      const poked = await openOn(s.h.bmdb, 60_000);
      await s.h.expireSession(poked.sessionId);
      expect(await refusedWith(poked.poke())).toBe('session-expired');
      expect(poked.signal.aborted).toBe(true);
      await short.close();
      await poked.close();
    });

    it('are listed while they live', async () => {
      const seen = async () => (await s.scan()).sessions;
      expect(await seen()).toContainEqual({
        sessionId: s.session.sessionId,
        component: 'shepherd',
      });
      await s.h.expireSession(s.session.sessionId);
      const left = (await seen()).map((each) => each.sessionId);
      expect(left).toEqual([s.rival.sessionId]);
    });

    it('show their daemon and its work until a day after their end', async () => {
      const about = {
        ...{ version: '9.9.9', schema: '890', roles: ['loops', 'console'] },
        ...{ consoleUrl: 'https://fleet.example.org/', logLevel: 'info' },
      };
      const told = await s.h.bmdb.openSession({
        ...{ component: 'shepherd', runtimeInfo: 'host rack7', intervalMs: 60_000, about },
      });
      await told.claim('ShepherdAgentStart', await add());
      await told.claim('ShepherdAgentStart', await add());
      const find = async (id: string) =>
        (await s.h.other.inspection.sessions(SIGNAL)).sessions.find(
          ({ sessionId }) => sessionId === id,
        );
      const alive = (await find(told.sessionId))!;
      expect(alive).toMatchObject({
        ...{ component: 'shepherd', runtimeInfo: 'host rack7', about, endedAtMs: null },
        work: [{ process: 'ShepherdAgentStart', machines: 2 }],
      });
      expect(alive.deadlineAtMs! - alive.startedAtMs).toBe(60_000);
      expect((await find(s.rival.sessionId))!.about.version).toBeNull();
      await told.close();
      const { sessions, atMs } = await s.h.other.inspection.sessions(SIGNAL);
      expect(sessions.at(-1)).toMatchObject({ sessionId: told.sessionId, about, work: [] });
      expect(atMs - sessions.at(-1)!.endedAtMs!).toBeLessThan(60_000);
      await s.h.expireSession(s.rival.sessionId);
      expect((await find(s.rival.sessionId))!.deadlineAtMs).toBeNull();
    });

    it('release their work when closed, and can be closed twice', async () => {
      const id = await add();
      await s.rival.claim('ShepherdAgentStart', id);
      await s.rival.close();
      await s.rival.close();
      expect(s.rival.signal.aborted).toBe(true);
      expect(await s.h.history(id)).toEqual([
        'ShepherdAgentStart Started',
        'ShepherdAgentStart Canceled session closed',
      ]);
      await (await s.session.claim('ShepherdAgentStart', id)).cancel();
    });

    it('that died long ago are swept with their work', async () => {
      const id = await add();
      const short = await openOn(s.h.bmdb, 5_000);
      await short.claim('UnitTest1', id);
      await s.h.pass(14_000);
      expect((await s.h.other.sweep()).sessions).toBe(0);
      await s.h.pass(2_000);
      expect(await s.h.other.sweep()).toMatchObject({ sessions: 1, work: 1, permits: 0 });
      expect((await s.h.history(id)).at(-1)).toBe('UnitTest1 Canceled session expired');
      expect((await s.h.other.sweep()).sessions).toBe(0);
    });
  });
}
