import { describe, expect, it } from 'vitest';
import { MINUTE, PROVIDER } from './bmdb-rows.ts';
import { refusedWith } from './bmdb-stage.ts';
import type { BmdbStage } from './bmdb-stage.ts';
import { requestFor } from './requests-of.ts';

export function freezesContract(s: BmdbStage): void {
  const { settle } = s;

  describe('the guard', () => {
    const rowOf = async (scope: string) =>
      (await s.scan()).guard.find((row) => row.scope === scope);

    it.each(['fleet', PROVIDER] as const)(
      'is frozen and thawed by operators (%s)',
      async (scope) => {
        const id = await s.addLost();
        const state = await settle({ verb: 'freeze', scope }, { reason: 'fire' });
        expect(state).toMatchObject({ state: 'done', outcome: 'frozen until somebody thaws it' });
        expect(await rowOf(scope)).toMatchObject({
          scope,
          calmSinceMs: null,
          thawedAtMs: null,
          frozen: { by: 'ann', kind: 'manual', reason: 'fire' },
        });
        expect(await refusedWith(s.rival.claim('ShepherdRecovery', id))).toBe('no-permit');
        const again = await settle({ verb: 'freeze', scope }, { by: 'bob', reason: 'flood' });
        expect(again).toMatchObject({
          state: 'done',
          outcome: 'it was frozen already by ann (manual: fire)',
        });
        expect((await rowOf(scope))!.frozen).toMatchObject({ by: 'ann' });
        expect(await settle({ verb: 'thaw', scope })).toMatchObject({
          state: 'done',
          outcome: 'thawed; it was frozen by ann (manual: fire)',
        });
        const thawed = await rowOf(scope);
        expect(thawed).toMatchObject({ scope, frozen: null });
        expect(Math.abs(thawed!.thawedAtMs! - (await s.now()))).toBeLessThan(MINUTE);
        await (await s.rival.claim('ShepherdRecovery', id)).cancel();
        const outcome = 'thawed; it was not frozen';
        expect(await settle({ verb: 'thaw', scope })).toMatchObject({ state: 'done', outcome });
      },
    );

    it('keeps what it knew of heartbeats', async () => {
      const before = (await rowOf('fleet'))!.ingestUpSinceMs;
      await settle({ verb: 'freeze', scope: 'fleet' });
      await settle({ verb: 'thaw', scope: 'fleet' });
      expect(Math.abs((await rowOf('fleet'))!.ingestUpSinceMs! - before!)).toBeLessThan(2);
    });

    it('that has expired is refused, and freezes nothing', async () => {
      const request = requestFor({ verb: 'freeze', scope: 'fleet' }, { validForMs: MINUTE });
      await s.h.bmdb.requests.file(request);
      await s.h.pass(2 * MINUTE);
      expect(await s.session.settle(request.key)).toMatchObject({ state: 'refused' });
      expect((await rowOf('fleet'))!.frozen).toBeNull();
    });
  });
}
