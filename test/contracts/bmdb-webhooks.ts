import { describe, expect, it } from 'vitest';
import type { DeliveryResults, Lease } from '../../src/adapters/bmdb/port.ts';
import { plainText } from '../../src/lib/texts.ts';
import { DAY, refusedWith, SIGNAL } from './bmdb-stage.ts';
import type { BmdbStage } from './bmdb-stage.ts';

const PAGER = 'pager';
const NOTHING: DeliveryResults = {
  ...{ toldTo: '0', hasDelivered: false, delivered: [], failed: [], disabled: null },
};

export function webhooksContract(s: BmdbStage): void {
  const repository = () => s.h.other.webhooks;
  const service = () => s.session.webhooks;
  const lease = async () => (await s.session.lease(`webhook/${PAGER}`))!;
  const newest = () => s.h.bmdb.events.newest(SIGNAL);
  const add = async (count: number): Promise<string[]> => {
    const after = await newest();
    for (let each = 0; each < count; each++) {
      await s.h.bmdb.events.append({
        ...{ type: 'webhook.test', actor: 'ann', reason: `${each}`, details: { webhook: PAGER } },
      });
    }
    const { events } = await s.h.bmdb.events.read({ after, limit: 1_000 }, SIGNAL);
    return events.map(({ number }) => number);
  };
  const failure = (number: string, nextInMs: number | null, attempts = 1) => ({
    ...{ number, type: 'webhook.test', attempts, nextInMs, status: 500, cause: 'it answered 500' },
  });
  const record = (held: Lease, results: Partial<DeliveryResults>) =>
    service().record(held, PAGER, { ...NOTHING, ...results });
  const deliveries = (state?: 'waiting' | 'dead') =>
    repository().deliveries({ webhook: PAGER, state, limit: 10 }, SIGNAL);
  const due = async (but: readonly string[] = [], limit = 10) =>
    (await service().due(PAGER, but, limit)).map(({ number }) => number);

  describe('deliveries to webhooks', () => {
    it('start where the first daemon started and continue where the last one stopped', async () => {
      const held = await lease();
      expect(await service().begin(held, PAGER, '7')).toEqual({ toldTo: '7', isDisabled: false });
      await record(held, { toldTo: '9', hasDelivered: true });
      await record(held, { toldTo: '8' });
      expect(await service().begin(held, PAGER, '99')).toEqual({ toldTo: '9', isDisabled: false });
      const [standing] = await repository().list(SIGNAL);
      expect(standing).toMatchObject({
        ...{ name: PAGER, toldTo: '9', waiting: 0, dead: 0, waitingSinceMs: null },
        ...{ disabledAtMs: null, disabledReason: null },
      });
      expect(Math.abs(standing!.deliveredAtMs! - (await s.now()))).toBeLessThan(60_000);
    });

    it('are due again at their time after a failure, with their event, the longest due first', async () => {
      const held = await lease();
      await service().begin(held, PAGER, '0');
      const [one, two, three] = await add(3);
      await record(held, {
        ...{ toldTo: three!, failed: [failure(one!, 60_000), failure(two!, 5_000)] },
      });
      expect(await due()).toEqual([]);
      await s.h.pass(5_001);
      expect(await due()).toEqual([two]);
      expect((await service().due(PAGER, [], 10))[0]).toMatchObject({
        ...{ attempts: 1, event: { number: two, type: 'webhook.test', reason: '1' } },
      });
      await s.h.pass(60_000);
      expect(await due()).toEqual([two, one]);
      expect(await due([two!])).toEqual([one]);
      expect(await due([], 1)).toEqual([two]);
      await record(held, { delivered: [two!], failed: [failure(one!, 1_000, 2)] });
      expect(await due()).toEqual([]);
      expect(await deliveries()).toMatchObject([
        { number: one, type: 'webhook.test', attempts: 2, status: 500, cause: 'it answered 500' },
      ]);
      const [standing] = await repository().list(SIGNAL);
      expect(standing).toMatchObject({ waiting: 1, dead: 0 });
      expect(standing!.waitingSinceMs).toBe((await deliveries())[0]!.firstAtMs);
    });

    it('are kept for 30 days after the last failure and can be replayed', async () => {
      const held = await lease();
      await service().begin(held, PAGER, '0');
      const [one, two] = await add(2);
      await record(held, { failed: [failure(one!, null, 10), failure(two!, 1_000)] });
      expect((await deliveries('dead')).map(({ number }) => number)).toEqual([one]);
      expect((await deliveries('waiting')).map(({ number }) => number)).toEqual([two]);
      expect((await deliveries()).map(({ number }) => number)).toEqual([two, one]);
      const before = { webhook: PAGER, before: two!, limit: 9 };
      expect(await repository().deliveries(before, SIGNAL)).toHaveLength(1);
      await s.h.pass(29 * DAY);
      await s.h.other.sweep();
      expect(await deliveries('dead')).toHaveLength(1);
      expect(await repository().replay(PAGER, one!)).toBe(true);
      expect(await repository().replay(PAGER, '999999')).toBe(false);
      const later = await s.openOn(s.h.bmdb);
      const due = await later.webhooks.due(PAGER, [], 10);
      expect(due.map(({ number, attempts }) => [number, attempts])).toEqual([
        [two, 1],
        [one, 0],
      ]);
      const again = (await later.lease(`webhook/${PAGER}`))!;
      await later.webhooks.record(again, PAGER, { ...NOTHING, failed: [failure(one!, null, 1)] });
      await s.h.pass(31 * DAY);
      await s.h.other.sweep();
      expect(await deliveries('dead')).toEqual([]);
      expect(await deliveries('waiting')).toHaveLength(1);
      await later.close();
    });

    it('are kept for 90 days when their webhook is no longer configured', async () => {
      const held = await lease();
      await service().begin(held, PAGER, '0');
      const [one, two] = await add(2);
      await record(held, { failed: [failure(one!, 1_000), failure(two!, 40 * DAY)] });
      await s.h.pass(89 * DAY);
      await s.h.other.sweep();
      expect((await deliveries('waiting')).map(({ number }) => number)).toEqual([two, one]);
      await s.h.pass(2 * DAY);
      await s.h.other.sweep();
      expect((await deliveries()).map(({ number }) => number)).toEqual([two]);
    });

    it('store a cause whatever the receiver answered', async () => {
      const held = await lease();
      await service().begin(held, PAGER, '0');
      const [one] = await add(1);
      const cause = `\u0000${'x'.repeat(5_000)}`;
      await record(held, { failed: [{ ...failure(one!, 1_000), cause }] });
      expect((await deliveries())[0]!.cause).toBe(plainText(cause));
    });

    it('end when the receiver is gone, with an event, until somebody enables it', async () => {
      const held = await lease();
      await service().begin(held, PAGER, '0');
      const after = await newest();
      await record(held, { disabled: 'it answered 410: gone' });
      // Another attempt that was under way gets the same answer and writes no second event.
      await record(held, { disabled: 'it answered 410: gone' });
      expect(await service().begin(held, PAGER, '0')).toMatchObject({ isDisabled: true });
      expect((await repository().list(SIGNAL))[0]).toMatchObject({
        ...{ disabledAtMs: expect.any(Number), disabledReason: 'it answered 410: gone' },
      });
      const { events } = await s.h.bmdb.events.read({ after, limit: 10 }, SIGNAL);
      expect(events).toMatchObject([
        { type: 'webhook.disabled', reason: 'it answered 410: gone', details: { webhook: PAGER } },
      ]);
      expect([await repository().enable(PAGER), await repository().enable(PAGER)]).toEqual([
        true,
        false,
      ]);
      expect(await service().begin(held, PAGER, '0')).toMatchObject({ isDisabled: false });
    });

    it('are written only by the holder of the lease', async () => {
      const held = await lease();
      await service().begin(held, PAGER, '5');
      await held.release();
      const theirs = (await s.rival.lease(`webhook/${PAGER}`))!;
      const [one] = await add(1);
      const results = { toldTo: '9', failed: [failure(one!, 0)], disabled: 'x' };
      expect(await refusedWith(record(held, results))).toBe('lease-lost');
      expect(await refusedWith(service().begin(held, PAGER, '0'))).toBe('lease-lost');
      expect(await s.rival.webhooks.begin(theirs, PAGER, '0')).toEqual({
        ...{ toldTo: '5', isDisabled: false },
      });
      expect(await deliveries()).toEqual([]);
    });
  });
}
