import { describe, expect, it } from 'vitest';
import { providerName } from '../../src/domain/ids.ts';
import { MINUTE, PROVIDER } from './bmdb-rows.ts';
import { DAY, refusedWith } from './bmdb-stage.ts';
import type { BmdbStage } from './bmdb-stage.ts';
import { requestFor } from './requests-of.ts';

const THROTTLE = { provider: PROVIDER, kind: 'throttle', key: 'create' } as const;
const CAPACITY = { provider: PROVIDER, kind: 'capacity', key: 'plan c3.small' } as const;
const QUOTA = { provider: PROVIDER, kind: 'quota', key: 'machines' } as const;
const FIRST = { level: 1, cause: 'too many requests' };
const OTHER = providerName('other');

export function providerHoldsContract(s: BmdbStage): void {
  const impose: typeof s.h.bmdb.providerHolds.impose = (hold) =>
    s.h.bmdb.providerHolds.impose(hold);
  const lift: typeof s.h.bmdb.providerHolds.lift = (...which) =>
    s.h.other.providerHolds.lift(...which);
  const holds = async () => {
    const { providerHolds, nowMs } = await s.scan();
    return providerHolds
      .map(({ untilMs, ...hold }) => ({ ...hold, leftMs: untilMs - nowMs }))
      .toSorted((a, b) =>
        `${a.provider}${a.kind}${a.key}` < `${b.provider}${b.kind}${b.key}` ? -1 : 1,
      );
  };
  /** Within the moment that passes until the check. */
  const about = (ms: number) => expect.closeTo(ms, -4) as number;

  describe('holds of providers', () => {
    it('are visible to every daemon with cause and end', async () => {
      await impose({ ...THROTTLE, ...FIRST, forMs: 5 * MINUTE });
      await impose({ ...QUOTA, level: 2, amount: 17, cause: 'quota of 18', forMs: 15 * MINUTE });
      await impose({ ...CAPACITY, level: 1, cause: 'sold out', forMs: MINUTE });
      expect(await holds()).toEqual([
        { ...CAPACITY, level: 1, amount: null, cause: 'sold out', leftMs: about(MINUTE) },
        { ...QUOTA, level: 2, amount: 17, cause: 'quota of 18', leftMs: about(15 * MINUTE) },
        { ...THROTTLE, ...FIRST, amount: null, leftMs: about(5 * MINUTE) },
      ]);
      expect((await s.scan()).penalties).toEqual([]);
    });

    it('never become shorter, and all their other fields are replaced', async () => {
      await impose({ ...QUOTA, level: 3, amount: 9, cause: 'first', forMs: 30 * MINUTE });
      await impose({ ...QUOTA, level: 1, cause: 'second', forMs: MINUTE });
      expect(await holds()).toEqual([
        { ...QUOTA, level: 1, amount: null, cause: 'second', leftMs: about(30 * MINUTE) },
      ]);
      await impose({ ...QUOTA, level: 4, amount: 5, cause: 'third', forMs: 60 * MINUTE });
      expect(await holds()).toMatchObject([{ level: 4, amount: 5, leftMs: about(60 * MINUTE) }]);
    });

    it('start again from now after their end, and keep their level for a day', async () => {
      await impose({ ...CAPACITY, level: 5, cause: 'sold out', forMs: MINUTE });
      await s.h.pass(10 * MINUTE);
      await s.h.bmdb.sweep();
      expect(await holds()).toMatchObject([{ level: 5, leftMs: about(-9 * MINUTE) }]);
      await impose({ ...CAPACITY, level: 6, cause: 'sold out', forMs: MINUTE });
      expect(await holds()).toMatchObject([{ level: 6, leftMs: about(MINUTE) }]);
      await s.h.pass(DAY);
      await s.h.bmdb.sweep();
      expect(await holds()).toHaveLength(1);
      await s.h.pass(2 * MINUTE);
      await s.h.bmdb.sweep();
      expect(await holds()).toEqual([]);
    });

    it('are lifted one by one, or all of one kind and provider', async () => {
      for (const key of ['create', 'list', 'destroy']) {
        await impose({ ...THROTTLE, key, ...FIRST, forMs: MINUTE });
      }
      await impose({ ...THROTTLE, provider: OTHER, ...FIRST, forMs: MINUTE });
      await impose({ ...CAPACITY, key: 'create', ...FIRST, forMs: MINUTE });
      expect(await lift(PROVIDER, 'throttle', 'list')).toBe(1);
      expect(await lift(PROVIDER, 'throttle', 'list')).toBe(0);
      expect(await lift(PROVIDER, 'throttle')).toBe(2);
      expect(await lift(PROVIDER, 'quota')).toBe(0);
      expect(await holds()).toMatchObject([
        { provider: PROVIDER, kind: 'capacity' },
        { provider: OTHER, kind: 'throttle' },
      ]);
    });

    it('end, and slots leave their cooldown, when an operator asks', async () => {
      await impose({ ...THROTTLE, ...FIRST, forMs: 5 * MINUTE });
      await impose({ ...QUOTA, level: 1, cause: 'quota', forMs: 5 * MINUTE });
      await impose({ ...QUOTA, provider: OTHER, level: 1, cause: 'quota', forMs: 5 * MINUTE });
      const clear = (change: object) =>
        requestFor({
          ...{ verb: 'clear-provider', provider: PROVIDER, hold: null, shelf: [] },
          ...change,
        });
      expect(await refusedWith(s.h.bmdb.requests.submit(clear({})))).toBe('usage');
      const { key } = await s.h.bmdb.requests.submit(clear({ hold: 'quota', shelf: ['slot-9'] }));
      expect(await s.session.applyRequest(key)).toMatchObject({
        ...{ state: 'done', provider: PROVIDER, slotId: null },
        outcome: 'holds of kind quota are ended; cooldown ended: slot-9',
      });
      expect(await holds()).toMatchObject([
        { kind: 'throttle', provider: PROVIDER },
        { kind: 'quota', provider: OTHER },
      ]);
    });

    it('are lifted only in the version that was seen', async () => {
      const untilOf = async () => (await s.scan()).providerHolds[0]!.untilMs;
      await impose({ ...THROTTLE, ...FIRST, forMs: MINUTE });
      const seenMs = await untilOf();
      await impose({ ...THROTTLE, ...FIRST, forMs: 5 * MINUTE });
      expect(await lift(PROVIDER, 'throttle', 'create', seenMs)).toBe(0);
      const newerMs = await untilOf();
      expect(await lift(PROVIDER, 'throttle', 'create', newerMs - 2)).toBe(0);
      expect(await lift(PROVIDER, 'throttle', undefined, newerMs)).toBe(1);
      expect(await holds()).toEqual([]);
    });

    it('on a slot are cooldowns; lifting one makes the slot usable', async () => {
      const slots = ['reservation-1', 'reservation-2', 'reservation-3'];
      const open = (slotId: string) =>
        s.session.intents.open({ provider: PROVIDER, slotId, hostname: 'm' });
      for (const slotId of slots) {
        const { witness } = await open(slotId);
        const end = { state: 'failed', cause: 'no luck', penaltyMs: 60 * MINUTE } as const;
        await s.session.intents.end(witness, end);
      }
      expect(await holds()).toEqual([]);
      expect(await lift(PROVIDER, 'penalty', 'reservation-1')).toBe(1);
      expect(await open('reservation-1')).toMatchObject({ slotId: 'reservation-1' });
      expect(await refusedWith(open('reservation-2'))).toBe('nothing-to-do');
      const asked = { verb: 'clear-provider', hold: null, shelf: ['reservation-2'] } as const;
      for (const provider of [OTHER, PROVIDER]) {
        const key = await s.submit({ ...asked, provider });
        await s.session.applyRequest(key);
        const left = provider === OTHER ? 2 : 1;
        expect((await s.scan()).penalties).toHaveLength(left);
      }
      expect(await lift(OTHER, 'penalty')).toBe(0);
      expect(await lift(PROVIDER, 'penalty')).toBe(1);
      expect((await s.scan()).penalties).toEqual([]);
    });

    it('are refused with impossible values and last at most 90 days', async () => {
      const wrong = [
        { forMs: -1 },
        { forMs: Number.NaN },
        { level: 0 },
        { level: 1.5 },
        { amount: -1 },
        { amount: 0.5 },
      ];
      for (const part of wrong) {
        const hold = { ...QUOTA, ...FIRST, forMs: MINUTE, ...part };
        await expect(impose(hold), JSON.stringify(part)).rejects.toThrow(RangeError);
      }
      expect(await holds()).toEqual([]);
      await impose({ ...QUOTA, ...FIRST, amount: 0, forMs: Number.POSITIVE_INFINITY });
      expect(await holds()).toMatchObject([{ amount: 0, leftMs: about(90 * DAY) }]);
    });
  });
}
