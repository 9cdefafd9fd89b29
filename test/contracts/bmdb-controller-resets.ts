import { beforeEach, describe, expect, it } from 'vitest';
import type { BmdbSession, Work } from '../../src/adapters/bmdb/port.ts';
import type { MachineId } from '../../src/domain/ids.ts';
import { DEFAULT_LOSS } from '../../src/domain/policy.ts';
import { CONTROLLER_RESET_MS } from '../../src/domain/recovery/rungs.ts';
import { ladderOn, MINUTE } from './bmdb-rows.ts';
import { refusedWith } from './bmdb-stage.ts';
import type { BmdbStage } from './bmdb-stage.ts';

/** The records of BMC resets. A reset does not recover a machine by itself. */
export function controllerResetsContract(s: BmdbStage): void {
  const claim = (id: MachineId, session: BmdbSession = s.session) =>
    session.claim('ShepherdRecovery', id);
  const ask = (work: Work, controller = 'bmc-7') =>
    work.note({ kind: 'controllerResetAsked', controller });
  const refuse = (work: Work, controller = 'bmc-7') =>
    work.note({ kind: 'controllerResetRefused', controller });

  describe('a BMC reset', () => {
    beforeEach(() => s.begin(DEFAULT_LOSS, { percent: 100, perGroupMax: 10, fleetMax: 10 }));

    it('is logged for the slot and leaves the ladder unchanged', async () => {
      const [fresh, begun] = [
        await s.addLost(),
        await s.addLost({ recovery: ladderOn('rebooting') }),
      ];
      await ask(await claim(fresh), 'bmc-1');
      await ask(await claim(begun), 'bmc-2');
      expect((await s.read(fresh)).recovery).toBeNull();
      expect((await s.read(begun)).recovery).toEqual(ladderOn('rebooting'));
      expect(await s.h.events(begun)).toContainEqual('controllerResetAsked bmc-2');
    });

    it('is requested once a day, for any machine and daemon', async () => {
      const [one, other] = [await s.addLost(), await s.addLost()];
      const [mine, theirs] = [await claim(one), await claim(other, s.rival)];
      await ask(mine);
      const again = ask(theirs);
      await expect(again).rejects.toMatchObject({ code: 'throttled' });
      const { retryAtMs } = (await again.catch((error: unknown) => error)) as { retryAtMs: number };
      const inMs = retryAtMs - (await s.now());
      expect(Math.abs(inMs - CONTROLLER_RESET_MS)).toBeLessThan(MINUTE);
      expect(await refusedWith(ask(mine))).toBe('throttled');
      await ask(theirs, 'bmc-8');
      await s.h.pass(CONTROLLER_RESET_MS + MINUTE);
      const later = await s.openOn(s.h.bmdb);
      await ask(await claim(await s.addLost(), later));
      await later.close();
    });

    it('is requested once when two daemons ask at the same moment', async () => {
      const works = [await claim(await s.addLost()), await claim(await s.addLost(), s.rival)];
      const ends = await Promise.allSettled(works.map((work) => ask(work)));
      expect(ends.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
    });

    it('can be requested again by the same daemon after a definite refusal', async () => {
      const [mine, theirs] = [await claim(await s.addLost()), await claim(await s.addLost())];
      await ask(mine);
      await refuse(theirs);
      expect(await refusedWith(ask(theirs))).toBe('throttled');
      await refuse(mine, 'bmc-8');
      expect(await refusedWith(ask(mine))).toBe('throttled');
      await refuse(mine);
      await ask(theirs);
    });

    it('is not requested when the machine came back or recovery is frozen', async () => {
      const [back, frozen] = [await s.addLost(), await s.addLost()];
      const works = [await claim(back), await claim(frozen)] as const;
      await s.beat(back);
      expect(await refusedWith(ask(works[0]))).toBe('nothing-to-do');
      await s.h.freeze('fleet', 'a test');
      expect(await refusedWith(ask(works[1]))).toBe('no-permit');
      await s.h.thaw('fleet');
      await ask(works[1]);
    });

    it('is not requested by a daemon that lost the work', async () => {
      const work = await claim(await s.addLost());
      await work.cancel();
      expect(await refusedWith(ask(work))).toBe('work-lost');
      await ask(await claim(await s.addLost()));
    });
  });
}
