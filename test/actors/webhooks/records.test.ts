import { expect, it } from 'vitest';
import type { Bmdb } from '../../../src/adapters/bmdb/port.ts';
import { Unreachable } from '../../../src/domain/errors.ts';
import { advance } from '../../doubles/simulated-clock.ts';
import { HOOK, status, webhookStand } from './webhook-stand.ts';

const SECOND = 1_000;
const SIGNAL = new AbortController().signal;

it('does not make a hanging delivery twice at once', async () => {
  const stand = webhookStand(async () => {
    if (stand.sent.length === 1) return status(500);
    await new Promise((resolve) => stand.clock.setTimeout(() => resolve(null), 14 * SECOND));
    return status(200);
  });
  const { stop } = await stand.daemon();
  await advance(stand.clock, 2 * SECOND);
  await stand.add(1);
  await advance(stand.clock, 30 * SECOND);
  expect(stand.numbersSent()).toEqual(['1', '1']);
  expect(await stand.bmdb.webhooks.list(SIGNAL)).toMatchObject([{ toldTo: '1', waiting: 0 }]);
  await stop();
});

it('records a delivery later when a record failed, and does not send it again', async () => {
  const stand = webhookStand();
  const { bmdb } = stand;
  let fails = true;
  const through: Bmdb = {
    ...bmdb,
    openSession: async (options) => {
      const session = await bmdb.openSession(options);
      const record: typeof session.webhooks.record = async (lease, name, results) => {
        const isFailing = fails && results.hasDelivered;
        if (!isFailing) return session.webhooks.record(lease, name, results);
        fails = false;
        throw new Unreachable('the database was away for a moment');
      };
      return { ...session, webhooks: { ...session.webhooks, record } };
    },
  };
  const { stop } = await stand.daemon({ through });
  await advance(stand.clock, 2 * SECOND);
  await stand.add(3);
  await advance(stand.clock, 30 * SECOND);
  expect(fails).toBe(false);
  expect(stand.numbersSent()).toEqual(['1', '2', '3']);
  expect(await bmdb.webhooks.list(SIGNAL)).toMatchObject([{ toldTo: '3', waiting: 0 }]);
  await stop();
});

it('shows how long the oldest delivery has waited, hanging or failed', async () => {
  const stand = webhookStand(async () => {
    await new Promise((resolve) => stand.clock.setTimeout(() => resolve(null), 14 * SECOND));
    return status(500);
  });
  const oldest = () =>
    stand.metrics
      .series('shepherd_webhook_oldest_seconds')
      .find(([webhook]) => webhook === HOOK)?.[1];
  const { stop } = await stand.daemon();
  await advance(stand.clock, 2 * SECOND);
  expect(oldest()).toBe(0);
  await stand.add(1);
  await advance(stand.clock, 12 * SECOND);
  expect(await stand.bmdb.webhooks.list(SIGNAL)).toMatchObject([{ waiting: 0 }]);
  expect(oldest()).toBeGreaterThan(5);
  // It failed twice, and is retried in five minutes.
  await advance(stand.clock, 120 * SECOND);
  expect(await stand.bmdb.webhooks.list(SIGNAL)).toMatchObject([{ waiting: 1 }]);
  expect(oldest()).toBeGreaterThan(90);
  await stop();
  expect(oldest()).toBeUndefined();
});
