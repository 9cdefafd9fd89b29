import { describe, expect, it } from 'vitest';
import { providerName } from '../../src/domain/ids.ts';
import { DEFAULT_LOSS } from '../../src/domain/policy.ts';
import { MINUTE, PROVIDER, providedOf } from './bmdb-rows.ts';
import { refusedWith, STEADY } from './bmdb-stage.ts';
import type { Stage } from './bmdb-stage.ts';
import { requestFor, targetOf } from './requests-of.ts';

export function permitsContract(s: Stage): void {
  const { addLost, read } = s;
  const LADDER = 'ShepherdRecovery';
  const ASKED = { kind: 'recoveryAsked', rung: 'rebooting', bootId: null } as const;

  describe('permits', () => {
    it('B2: count where they were granted, though the machine is said to be elsewhere since', async () => {
      await s.begin(DEFAULT_LOSS, { percent: 100, perGroupMax: 1, fleetMax: 10 });
      const other = { provider: providerName('other') };
      const [first, second] = [
        await addLost({ provided: providedOf('1') }),
        await addLost({ provided: providedOf('2', other) }),
      ];
      await s.session.claim(LADDER, first);
      await s.session.updateProvided(first, { location: 'la' });
      expect(await refusedWith(s.rival.claim(LADDER, second))).toBe('no-permit');
      await s.session.updateProvided(second, { location: 'sf' });
      await s.rival.claim(LADDER, second);
    });

    it('B2: are given to machines of one provider while another one is frozen', async () => {
      const id = await addLost();
      await s.h.freeze('other', 'x');
      await (await s.session.claim(LADDER, id)).cancel();
      await s.h.freeze(PROVIDER, 'x');
      expect(await refusedWith(s.session.claim(LADDER, id))).toBe('no-permit');
    });

    it('B2: of machines that are started take no share of the budget twice', async () => {
      await s.begin(DEFAULT_LOSS, { percent: 50, perGroupMax: 10, fleetMax: 10 });
      const ids = [await addLost(), await addLost(), await addLost(), await addLost()];
      await s.session.claim(LADDER, ids[0]!);
      await s.rival.claim(LADDER, ids[1]!);
      expect(await refusedWith(s.session.claim(LADDER, ids[2]!))).toBe('no-permit');
    });

    it('B2: stay while the machine cools down, whoever had it for an order meanwhile', async () => {
      const id = await addLost();
      const work = await s.session.claim(LADDER, id);
      await work.note(ASKED);
      await work.note({ kind: 'recoveryRefused', counts: true });
      await work.fail(STEADY, 'refused');
      const { recovery, permit } = await read(id);
      expect([recovery?.askedAtMs, permit]).toEqual([null, true]);
      expect(recovery!.nextAtMs).toBeGreaterThan(await s.now());
      const target = targetOf(await read(id));
      await s.h.bmdb.requests.file(requestFor({ verb: 'reboot', target, force: false }));
      await (await s.rival.claim(LADDER, id)).cancel();
      expect((await read(id)).permit).toBe(true);
      await s.h.pass(2 * MINUTE);
      await (await s.rival.claim(LADDER, id)).cancel();
      expect((await read(id)).permit).toBe(false);
    });
  });
}
