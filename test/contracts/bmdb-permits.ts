import { ASKED } from './bmdb-rows.ts';
import { describe, expect, it } from 'vitest';
import { providerName } from '../../src/domain/ids.ts';
import { DEFAULT_LOSS } from '../../src/domain/policy.ts';
import { ladderOn, PROVIDER, providedOf } from './bmdb-rows.ts';
import { refusedWith, STEADY } from './bmdb-stage.ts';
import type { BmdbStage } from './bmdb-stage.ts';

export function permitsContract(s: BmdbStage): void {
  const { addLost, read } = s;
  const LADDER = 'ShepherdRecovery';

  describe('permits', () => {
    it('B2: count in the group that granted them, even if the machine’s location changes', async () => {
      await s.begin(DEFAULT_LOSS, { percent: 100, perGroupMax: 1, fleetMax: 10 });
      const other = { provider: providerName('other') };
      const [first, second] = [
        await addLost({ provided: providedOf('1') }),
        await addLost({ provided: providedOf('2', other) }),
      ];
      await (await s.session.claim(LADDER, first)).note(ASKED);
      await s.session.updateProvided(first, { location: 'la' });
      expect(await refusedWith((await s.rival.claim(LADDER, second)).note(ASKED))).toBe(
        'no-permit',
      );
      await s.rival.releaseWork(second);
      await s.session.updateProvided(second, { location: 'sf' });
      await (await s.rival.claim(LADDER, second)).note(ASKED);
    });

    it('B2: are granted for one provider while another one is frozen', async () => {
      const id = await addLost();
      await s.h.freeze('other', 'x');
      await (await s.session.claim(LADDER, id)).cancel();
      await s.h.freeze(PROVIDER, 'x');
      expect(await refusedWith(s.session.claim(LADDER, id))).toBe('no-permit');
    });

    it('B2: count a machine that is started only once', async () => {
      await s.begin(DEFAULT_LOSS, { percent: 50, perGroupMax: 10, fleetMax: 10 });
      const ids = [await addLost(), await addLost(), await addLost(), await addLost()];
      await (await s.session.claim(LADDER, ids[0]!)).note(ASKED);
      await (await s.rival.claim(LADDER, ids[1]!)).note(ASKED);
      const work = await s.session.claim(LADDER, ids[2]!);
      expect(await refusedWith(work.note(ASKED))).toBe('no-permit');
    });

    it('D1: return when the attempt fails, during the machine’s backoff', async () => {
      await s.begin(DEFAULT_LOSS, { percent: 100, perGroupMax: 1, fleetMax: 1 });
      const [hopeless, other] = [await addLost(), await addLost()];
      const work = await s.session.claim(LADDER, hopeless);
      await work.note(ASKED);
      await work.note({ kind: 'recoveryRefused', counts: true });
      await work.fail(STEADY, 'refused');
      const { recovery, permit } = await read(hopeless);
      expect([recovery?.askedAtMs, permit]).toEqual([null, false]);
      expect(recovery!.nextAtMs).toBeGreaterThan(await s.now());
      await (await s.rival.claim(LADDER, other)).note(ASKED);
    });

    it('are not needed to restart an agent, or for a machine that serves nothing', async () => {
      await s.begin(DEFAULT_LOSS, { percent: 100, perGroupMax: 1, fleetMax: 1 });
      const [rebooted, restarted, lost] = [await addLost(), await addLost(), await addLost()];
      await (await s.session.claim(LADDER, rebooted)).note(ASKED);
      const work = await s.session.claim(LADDER, restarted);
      await work.note({ ...ASKED, rung: 'restartingAgent' });
      expect(await read(restarted)).toMatchObject({ permit: false, recovery: { attempts: 1 } });
      const third = await s.rival.claim(LADDER, lost);
      expect(await refusedWith(third.note(ASKED))).toBe('no-permit');
      expect(await read(lost)).toMatchObject({ permit: false, recovery: null });
    });

    it('return for an unreachable machine while its work continues', async () => {
      await s.begin(DEFAULT_LOSS, { percent: 100, perGroupMax: 1, fleetMax: 1 });
      const [hopeless, other] = [await addLost(), await addLost()];
      const work = await s.session.claim(LADDER, hopeless);
      await work.note(ASKED);
      await work.note({ kind: 'permitReturned' });
      await work.note({ kind: 'permitReturned' });
      await (await s.rival.claim(LADDER, other)).note(ASKED);
      await work.fail(STEADY, 'no evidence');
      expect((await read(hopeless)).recovery).toMatchObject({ attempts: 1 });
    });

    it('are not needed to switch a machine on again, even during a freeze', async () => {
      const id = await addLost({
        recovery: ladderOn('powerCycling', { attempts: 1, powerOffAskedAtMs: await s.now() }),
      });
      await s.h.freeze('fleet', 'fire');
      const work = await s.session.claim(LADDER, id);
      await work.note({ kind: 'powerOnAccepted' });
      expect(await refusedWith(work.note(ASKED))).toBe('no-permit');
      await work.cancel();
      expect(await refusedWith(s.session.claim(LADDER, id))).toBe('no-permit');
    });
  });
}
