import { describe, expect, it } from 'vitest';
import { MINUTE, PROVIDER } from './bmdb-rows.ts';
import { refusedWith } from './bmdb-stage.ts';
import type { BmdbStage } from './bmdb-stage.ts';
import { requestFor } from './requests-of.ts';

export function freezesContract(s: BmdbStage): void {
  const { applyRequest } = s;

  describe('the guard', () => {
    const rowOf = async (scope: string) =>
      (await s.scan()).guard.find((row) => row.scope === scope);

    it.each(['fleet', PROVIDER] as const)(
      'is frozen and thawed by operators (%s)',
      async (scope) => {
        const id = await s.addLost();
        const state = await applyRequest({ verb: 'freeze', scope }, { reason: 'fire' });
        expect(state).toMatchObject({ state: 'done', outcome: 'frozen until somebody thaws it' });
        expect(await rowOf(scope)).toMatchObject({
          scope,
          calmSinceMs: null,
          thawedAtMs: null,
          frozen: { by: 'ann', kind: 'manual', reason: 'fire' },
        });
        expect(await refusedWith(s.rival.claim('ShepherdRecovery', id))).toBe('no-permit');
        const again = await applyRequest({ verb: 'freeze', scope }, { by: 'bob', reason: 'flood' });
        expect(again).toMatchObject({
          state: 'done',
          outcome: 'it was already frozen by ann (manual: fire)',
        });
        expect((await rowOf(scope))!.frozen).toMatchObject({ by: 'ann' });
        expect(await applyRequest({ verb: 'thaw', scope })).toMatchObject({
          state: 'done',
          outcome: 'thawed; it was frozen by ann (manual: fire)',
        });
        const thawed = await rowOf(scope);
        expect(thawed).toMatchObject({ scope, frozen: null });
        expect(Math.abs(thawed!.thawedAtMs! - (await s.now()))).toBeLessThan(MINUTE);
        await (await s.rival.claim('ShepherdRecovery', id)).cancel();
        const outcome = 'thawed; it was not frozen';
        expect(await applyRequest({ verb: 'thaw', scope })).toMatchObject({
          state: 'done',
          outcome,
        });
      },
    );

    describe.each(['fleet', PROVIDER] as const)('frozen until an end (%s)', (scope) => {
      const assess = (bmdb = s.h.bmdb) => bmdb.guard.assess({ ingestUp: true });
      const freeze = async (forMs: number, change: object = {}) => {
        const untilMs = Math.floor(await s.now()) + forMs;
        const what = { verb: 'freeze-until', scope, untilMs } as const;
        return { untilMs, state: await applyRequest(what, { reason: 'fire', ...change }) };
      };

      it('lets nobody recover before, and thaws by itself then, by whichever daemon', async () => {
        const id = await s.addLost();
        const { untilMs, state } = await freeze(120 * MINUTE);
        const until = new Date(untilMs).toISOString();
        expect(state).toMatchObject({ state: 'done', outcome: `frozen until ${until}` });
        expect((await rowOf(scope))!.frozen).toMatchObject({ by: 'ann', kind: 'manual', untilMs });
        await s.h.pass(119 * MINUTE);
        expect((await assess()).changes).toEqual([]);
        expect(await refusedWith(s.rival.claim('ShepherdRecovery', id))).toBe('no-permit');
        await s.h.pass(MINUTE);
        expect((await assess(s.h.other)).changes).toEqual([{ scope, now: 'ended' }]);
        expect(await rowOf(scope)).toMatchObject({ frozen: null, thawedAtMs: null });
        expect((await assess()).changes).toEqual([]);
      });

      it('ends on time though the fleet was assessed a moment before', async () => {
        await freeze(MINUTE);
        await s.h.pass(MINUTE - 1_000);
        await assess();
        await s.h.pass(1_000);
        expect((await assess()).changes).toEqual([{ scope, now: 'ended' }]);
      });

      it('gets another end by a second freeze, or none', async () => {
        const first = await freeze(MINUTE);
        const until = new Date(first.untilMs).toISOString();
        const second = await freeze(10 * MINUTE, { by: 'bob', reason: 'flood' });
        expect(second.state?.outcome).toContain(
          `; it was frozen by ann until ${until} (manual: fire)`,
        );
        expect((await rowOf(scope))!.frozen).toMatchObject({ by: 'bob', untilMs: second.untilMs });
        await s.h.pass(MINUTE);
        expect((await assess()).changes).toEqual([]);
        await applyRequest({ verb: 'freeze', scope });
        expect((await rowOf(scope))!.frozen).toMatchObject({ by: 'ann', untilMs: null });
        await s.h.pass(20 * MINUTE);
        expect((await assess()).changes).toEqual([]);
      });

      it('is thawed before by an operator, and the next freeze has no end', async () => {
        await freeze(MINUTE);
        expect(await applyRequest({ verb: 'thaw', scope })).toMatchObject({ state: 'done' });
        await applyRequest({ verb: 'freeze', scope });
        await s.h.pass(2 * MINUTE);
        expect((await assess()).changes).toEqual([]);
        expect((await rowOf(scope))!.frozen).toMatchObject({ untilMs: null });
      });

      it('is refused when its end is past', async () => {
        expect((await freeze(-1)).state).toMatchObject({ state: 'refused' });
        expect((await rowOf(scope))?.frozen ?? null).toBeNull();
      });
    });

    it('keeps its knowledge of heartbeats', async () => {
      const before = (await rowOf('fleet'))!.ingestUpSinceMs;
      await applyRequest({ verb: 'freeze', scope: 'fleet' });
      await applyRequest({ verb: 'thaw', scope: 'fleet' });
      expect(Math.abs((await rowOf('fleet'))!.ingestUpSinceMs! - before!)).toBeLessThan(2);
    });

    it('ignores an expired request to freeze', async () => {
      const request = requestFor({ verb: 'freeze', scope: 'fleet' }, { validForMs: MINUTE });
      await s.h.bmdb.requests.submit(request);
      await s.h.pass(2 * MINUTE);
      expect(await s.session.applyRequest(request.key)).toMatchObject({ state: 'refused' });
      expect((await rowOf('fleet'))!.frozen).toBeNull();
    });
  });
}
