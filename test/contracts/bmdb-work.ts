import { describe, expect, it } from 'vitest';
import { startedAt } from './bmdb-rows.ts';
import { UNKNOWN, STEADY, refusedWith, agentStarted } from './bmdb-stage.ts';
import type { BmdbStage } from './bmdb-stage.ts';

export function workContract(s: BmdbStage): void {
  const { now, read, add, openOn } = s;
  describe('work', () => {
    it('excludes the same process and processes of the same group', async () => {
      const id = await add();
      const work = await s.session.claim('UnitTest1', id);
      expect(await refusedWith(s.session.claim('UnitTest1', id))).toBe('work-conflict');
      expect(await refusedWith(s.rival.claim('UnitTest1', id))).toBe('work-conflict');
      const beside = await s.rival.claim('UnitTest2', id);
      const start = await s.session.claim('ShepherdAgentStart', id);
      expect(await refusedWith(s.rival.claim('ShepherdAccess', id))).toBe('work-conflict');
      expect(await refusedWith(s.rival.claim('ShepherdRecovery', id))).toBe('work-conflict');
      for (const each of [work, beside, start]) await each.cancel();
      await (await s.rival.claim('UnitTest1', id)).cancel();
    });

    it('shows the machine as it was at the claim', async () => {
      const id = await add();
      const work = await s.session.claim('ShepherdAgentStart', id);
      expect(work).toMatchObject({ process: 'ShepherdAgentStart', machineId: id });
      const row = await read(id);
      expect(work.row).toEqual(row);
      expect(row.work).toEqual([
        {
          process: 'ShepherdAgentStart',
          sessionId: s.session.sessionId,
          epoch: work.epoch,
          startedAtMs: expect.any(Number) as number,
        },
      ]);
    });

    it('is refused when nothing is to be done', async () => {
      expect(await refusedWith(s.session.claim('UnitTest1', UNKNOWN))).toBe('nothing-to-do');
      const bare = await add({ provided: null });
      expect(await refusedWith(s.session.claim('ShepherdAgentStart', bare))).toBe('nothing-to-do');
      const healthy = await add(startedAt(await now()));
      expect(await refusedWith(s.session.claim('ShepherdRecovery', healthy))).toBe('nothing-to-do');
    });

    it('ends once', async () => {
      const work = await s.session.claim('UnitTest1', await add());
      await work.finish({ kind: 'nothing' });
      expect(await refusedWith(work.finish({ kind: 'nothing' }))).toBe('already-finished');
      expect(await refusedWith(work.fail(STEADY, 'x'))).toBe('already-finished');
      await work.cancel();
      expect(await s.h.history(work.machineId)).toEqual([
        'UnitTest1 Started',
        'UnitTest1 Finished',
      ]);
    });

    it('can be cancelled twice, with a cause', async () => {
      const work = await s.session.claim('UnitTest1', await add());
      await work.cancel('no longer wanted');
      await work.cancel();
      expect((await s.h.history(work.machineId)).slice(1)).toEqual([
        'UnitTest1 Canceled no longer wanted',
      ]);
    });

    it('writes nothing after it was taken away', async () => {
      const id = await add();
      const work = await s.session.claim('ShepherdAgentStart', id);
      await s.session.releaseWork(id);
      expect(await refusedWith(work.note({ kind: 'agentStartAttempt' }))).toBe('work-lost');
      expect(await refusedWith(work.finish(agentStarted()))).toBe('work-lost');
      expect(await refusedWith(work.fail(STEADY, 'x'))).toBe('work-lost');
      await work.cancel();
      const row = await read(id);
      expect([row.agentStarted, row.startAttempt, row.backoffs]).toEqual([null, null, []]);
      expect((await s.h.history(id)).at(-1)).toBe('ShepherdAgentStart Canceled released');
    });

    it('is released by its epoch only while that claim lasts', async () => {
      const id = await add();
      const first = await s.session.claim('ShepherdAgentStart', id);
      await s.session.releaseWork(id, first.epoch);
      const second = await s.session.claim('ShepherdAgentStart', id);
      await s.session.releaseWork(id, first.epoch);
      expect((await read(id)).work).toMatchObject([{ epoch: second.epoch }]);
      await s.session.releaseWork(id, second.epoch);
      expect((await read(id)).work).toEqual([]);
    });

    it('can be failed after a finish that failed', async () => {
      const id = await add();
      const work = await s.session.claim('UnitTest1', id);
      await s.h.reachable(false);
      const failed = await refusedWith(work.finish({ kind: 'nothing' }));
      await s.h.reachable(true);
      expect(failed).toBe('unreachable');
      await work.fail(STEADY, 'could not finish');
      expect((await s.h.history(id)).at(-1)).toBe('UnitTest1 Failed could not finish');
    });

    it('of a dead session is ignored and replaced by the next claim', async () => {
      const id = await add();
      const short = await openOn(s.h.bmdb, 60_000);
      const old = await short.claim('ShepherdAgentStart', id);
      await s.h.expireSession(short.sessionId);
      expect((await read(id)).work).toEqual([]);
      const work = await s.rival.claim('ShepherdAgentStart', id);
      expect(BigInt(work.epoch)).toBeGreaterThan(BigInt(old.epoch));
      expect(await refusedWith(old.finish(agentStarted()))).toBe('session-expired');
      expect((await read(id)).agentStarted).toBeNull();
      await work.finish(agentStarted());
      expect(await s.h.history(id)).toEqual([
        'ShepherdAgentStart Started',
        'ShepherdAgentStart Canceled session expired',
        'ShepherdAgentStart Started',
        'ShepherdAgentStart Finished',
      ]);
      await short.close();
    });
  });
}
