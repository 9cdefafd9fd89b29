import { describe, expect, it } from 'vitest';
import { newPool } from '../../src/domain/balancing/pool-row.ts';
import { MINUTE } from './bmdb-rows.ts';
import { refusedWith } from './bmdb-stage.ts';
import type { BmdbStage } from './bmdb-stage.ts';
import { JOB, memberScene, POOL } from './member-scene.ts';

const EVA = { by: 'eva', reason: 'it is gone' };

export function poolsContract(s: BmdbStage): void {
  const { lease, addMember } = memberScene(s);
  const { applyRequest } = s;

  describe('the daemon that holds a balancer’s job', () => {
    it('writes nothing after it lost the job', async () => {
      const id = await s.add();
      const old = await lease();
      await old.release();
      const again = await s.rival.lease(JOB);
      const { balancing } = s.session;
      const join = { machineId: id, to: 'joining' } as const;
      for (const call of [
        () => balancing.write(old, POOL, [join]),
        () => balancing.write(again!, POOL, [join]),
        () => balancing.note(old, POOL, { state: 'settled' }),
        () => balancing.forget(old, POOL, EVA),
      ]) {
        expect(await refusedWith(call())).toBe('lease-lost');
      }
      expect((await s.read(id)).members).toEqual([]);
      expect((await s.scan()).pools).toEqual([]);
    });

    it('writes nothing after its session died', async () => {
      const id = await s.add();
      const short = await s.openOn(s.h.bmdb, 60_000);
      const held = (await short.lease(JOB))!;
      await s.h.expireSession(short.sessionId);
      const change = { machineId: id, to: 'joining' } as const;
      expect(await refusedWith(short.balancing.write(held, POOL, [change]))).toBe(
        'session-expired',
      );
      expect((await s.read(id)).members).toEqual([]);
      await short.close();
    });

    it('records the state of its pools in parts', async () => {
      const held = await lease();
      const { balancing } = s.session;
      const poolOf = async () => (await s.scan()).pools[0]!;
      await balancing.note(held, POOL, {});
      expect((await s.scan()).pools).toEqual([newPool(POOL)]);
      const first = {
        state: 'failed',
        madeAs: 'uid 1',
        generation: 7,
        failures: 2,
        reason: 'down',
      };
      await balancing.note(held, POOL, { ...first, retryInMs: MINUTE, observed: true });
      const failed = await poolOf();
      expect(failed).toMatchObject({ ...first, settledAtMs: null });
      expect(Math.abs(failed.retryAtMs! - (await s.now()) - MINUTE)).toBeLessThan(MINUTE / 2);
      expect(failed.observedAtMs).not.toBeNull();
      const well = { state: 'settled', failures: 0, reason: null, retryInMs: null } as const;
      await balancing.note(held, POOL, { ...well, settled: true });
      const settled = await poolOf();
      expect(settled).toMatchObject({ state: 'settled', madeAs: 'uid 1', generation: 7 });
      expect([settled.failures, settled.reason]).toEqual([0, null]);
      expect([settled.retryAtMs, settled.observedAtMs]).toEqual([null, failed.observedAtMs]);
      expect(settled.settledAtMs).not.toBeNull();
    });

    it('freezes its pools once and thaws them with the accepted snapshot', async () => {
      const held = await lease();
      const { balancing } = s.session;
      const poolOf = async () => (await s.scan()).pools[0]!;
      await balancing.note(held, POOL, { frozen: { reason: 'two of three', snapshot: '[1]' } });
      const { atMs } = (await poolOf()).frozen!;
      await s.h.pass(MINUTE);
      await balancing.note(held, POOL, { frozen: { reason: 'all', snapshot: '[2]' } });
      const again = (await poolOf()).frozen!;
      expect(again).toMatchObject({ reason: 'all', snapshot: '[2]' });
      expect(Math.abs(again.atMs - atMs)).toBeLessThan(2 * MINUTE);
      await applyRequest({ verb: 'thaw-pool', pool: 'api', balancer: null });
      await balancing.note(held, POOL, { state: 'checking' });
      expect(await poolOf()).toMatchObject({ frozen: again, accepted: { by: 'ann' } });
      await balancing.note(held, POOL, { frozen: { reason: 'all of them', snapshot: '[2]' } });
      expect(await poolOf()).toMatchObject({ accepted: { by: 'ann' } });
      // A change that nobody saw at the thaw is not accepted.
      await balancing.note(held, POOL, { frozen: { reason: 'others', snapshot: '[3]' } });
      expect(await poolOf()).toMatchObject({ frozen: { snapshot: '[3]' }, accepted: null });
      await balancing.note(held, POOL, { frozen: null });
      expect(await poolOf()).toMatchObject({ frozen: null, accepted: null });
    });

    it('forgets a pool with its members and no other pool', async () => {
      const id = await addMember('active');
      const held = await lease();
      const other = { pool: 'web', balancer: 'front' };
      await s.session.balancing.write(held, other, [{ machineId: id, to: 'joining' }]);
      for (const pool of [POOL, other]) await s.session.balancing.note(held, pool, {});
      await s.session.balancing.forget(held, POOL, EVA);
      await s.session.balancing.forget(held, POOL, EVA);
      expect((await s.read(id)).members.map(({ pool }) => pool)).toEqual(['web']);
      const { pool, balancer } = POOL;
      expect(await s.h.events(id)).toEqual([
        `requestDone forget-pool: it is no recorded member of pool ${pool} at ${balancer} any more: it is gone`,
      ]);
      expect((await s.scan()).pools.map(({ pool }) => pool)).toEqual(['web']);
    });
  });

  describe('an operator of pools', () => {
    const pools = async () => (await s.scan()).pools;

    it('pauses, tears down and resumes pools, at one balancer or all', async () => {
      const held = await lease();
      for (const balancer of ['back', 'front']) {
        await s.session.balancing.note(held, { pool: 'api', balancer }, {});
      }
      await s.session.balancing.note(held, { pool: 'web', balancer: 'front' }, {});
      const one = { pool: 'api', balancer: 'front' };
      const all = { pool: 'api', balancer: null };
      expect(await applyRequest({ verb: 'pause-pool', ...one })).toMatchObject({
        ...{ state: 'done', outcome: 'it is paused at front' },
        pool: one,
      });
      const paused = { by: 'ann', reason: expect.any(String), atMs: expect.any(Number) };
      expect((await pools()).map((row) => row.paused)).toEqual([null, paused, null]);
      expect(await applyRequest({ verb: 'pause-pool', ...all })).toMatchObject({
        outcome: 'it is paused at back',
      });
      expect(await applyRequest({ verb: 'pause-pool', ...all })).toMatchObject({
        ...{ state: 'done', outcome: 'it was already paused' },
      });
      await applyRequest({ verb: 'teardown-pool', ...all });
      expect((await pools()).map((row) => row.tornDown)).toEqual([paused, paused, null]);
      expect(await applyRequest({ verb: 'resume-pool', ...all })).toMatchObject({
        outcome: 'it is managed again at back, front',
      });
      for (const row of await pools()) expect(row).toMatchObject({ paused: null, tornDown: null });
      expect(await applyRequest({ verb: 'thaw-pool', ...all })).toMatchObject({
        ...{ state: 'done', outcome: 'it was not frozen' },
      });
    });

    it('cannot order anything for a pool that no daemon has tended', async () => {
      const nowhere = { verb: 'pause-pool', pool: 'apu', balancer: null } as const;
      expect(await applyRequest(nowhere)).toMatchObject({
        ...{ state: 'refused', outcome: 'no daemon has managed pool apu at any balancer yet' },
      });
      await expect(applyRequest({ ...nowhere, pool: 'a b' })).rejects.toThrow('no name of a pool');
      await expect(applyRequest({ ...nowhere, balancer: '' })).rejects.toThrow(
        'no name of a balancer',
      );
    });

    it('keeps a machine out of its pools, by force if ordered', async () => {
      const id = await s.add();
      const target = await s.target(id);
      const held = async () => await s.holds();
      const kept = { verb: 'hold', target, kind: 'no-serve', untilMs: null } as const;
      await applyRequest(kept);
      expect(await held()).toMatchObject([{ kind: 'no-serve' }]);
      expect((await held())[0]).not.toHaveProperty('force');
      await applyRequest({ ...kept, force: true });
      expect(await held()).toMatchObject([{ kind: 'no-serve', force: true }]);
      await applyRequest(kept);
      expect((await held())[0]).not.toHaveProperty('force');
      await applyRequest({ verb: 'unhold', target, kind: 'no-serve' });
      expect(await held()).toEqual([]);
      await expect(applyRequest({ ...kept, kind: 'preserve', force: true })).rejects.toThrow(
        'no-serve',
      );
    });

    it('decides how a machine that is given back leaves its pools', async () => {
      const id = await s.add();
      const target = await s.target(id);
      await applyRequest({ verb: 'deprovision', target, drain: 'force' });
      expect((await s.read(id)).deprovision).toMatchObject({ drain: 'force' });
    });
  });
}
