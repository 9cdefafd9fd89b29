import { describe, expect, it } from 'vitest';
import type { Bmdb } from '../../../src/adapters/bmdb/port.ts';
import { advance } from '../../doubles/simulated-clock.ts';
import { status, webhookStand } from './webhook-stand.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const SIGNAL = new AbortController().signal;

describe('deliveries in a storm', () => {
  it.each([[503], [429], [404], [302], [null]])(
    'that all fail by %s are tried ten a second, and at full speed after the first success',
    async (code) => {
      let isAway = true;
      let [now, most] = [0, 0];
      const stand = webhookStand(async () => {
        most = Math.max(most, ++now);
        await Promise.resolve();
        now -= 1;
        if (!isAway) return status(200);
        return code === null ? { status: null, cause: 'no answer' } : status(code);
      });
      const { stop } = await stand.daemon({ types: ['guard.thawed'] });
      await advance(stand.clock, 2 * SECOND);
      await stand.add(1_000);
      await advance(stand.clock, 2 * SECOND);
      const before = stand.sent.length;
      most = 0;
      await advance(stand.clock, 10 * SECOND);
      // Each after 100 ms, and at the start some more.
      expect(stand.sent.length - before).toBeGreaterThan(80);
      expect(stand.sent.length - before).toBeLessThanOrEqual(100);
      isAway = false;
      await advance(stand.clock, 10 * SECOND);
      expect(most).toBe(4);
      expect(new Set(stand.numbersSent()).size).toBe(1_000);
      await advance(stand.clock, 10 * MINUTE);
      expect(await stand.bmdb.webhooks.list(SIGNAL)).toMatchObject([
        { toldTo: '1000', waiting: 0 },
      ]);
      await stop();
    },
  );

  it('to a hanging receiver are still made four at a time', async () => {
    let [now, most] = [0, 0];
    const stand = webhookStand(async (_sent, signal) => {
      most = Math.max(most, ++now);
      await new Promise((resolve) => {
        stand.clock.setTimeout(() => resolve(null), 15 * SECOND);
        signal.addEventListener('abort', resolve);
      });
      now -= 1;
      return { status: null, cause: 'no answer in time' };
    });
    const { stop } = await stand.daemon({ types: ['guard.thawed'] });
    await advance(stand.clock, 2 * SECOND);
    await stand.add(100);
    await advance(stand.clock, MINUTE);
    most = 0;
    const before = stand.sent.length;
    await advance(stand.clock, MINUTE);
    expect(most).toBe(4);
    expect(stand.sent.length - before).toBeGreaterThanOrEqual(12);
    await stop();
  });

  it('to a dead webhook keep few in memory, and all arrive in the end', async () => {
    const stand = webhookStand(() => ({ status: null, cause: 'connection refused' }));
    let readAhead = 0;
    const { bmdb } = stand;
    const events: Bmdb['events'] = {
      ...bmdb.events,
      read: async (query, signal) => {
        const page = await bmdb.events.read(query, signal);
        const [standing] = await bmdb.webhooks.list(signal);
        readAhead = Math.max(readAhead, Number(page.next) - Number(standing?.toldTo ?? 0));
        return page;
      },
    };
    const { stop } = await stand.daemon({ pollMs: 10 * SECOND, through: { ...bmdb, events } });
    await advance(stand.clock, 11 * SECOND);
    await stand.add(2_000);
    await advance(stand.clock, 2 * MINUTE);
    const [standing] = await bmdb.webhooks.list(SIGNAL);
    expect(standing, 'what was tried waits; the rest was not tried yet').toMatchObject({
      ...{ toldTo: String(standing!.waiting), dead: 0 },
    });
    expect(standing!.waiting).toBeGreaterThan(500);
    expect(standing!.waiting).toBeLessThan(1_200);
    expect(readAhead).toBeLessThanOrEqual(96);
    stand.world.receive = () => status(200);
    await advance(stand.clock, HOUR);
    expect(await bmdb.webhooks.list(SIGNAL)).toMatchObject([
      { toldTo: '2000', waiting: 0, dead: 0 },
    ]);
    expect(new Set(stand.numbersSent()).size).toBe(2_000);
    await stop();
  });

  it('go on while a reachable receiver refuses one', async () => {
    const stand = webhookStand(({ number }) => status(Number(number) <= 1_000 ? 400 : 200));
    const { stop } = await stand.daemon({ types: ['guard.thawed'] });
    await advance(stand.clock, 2 * SECOND);
    await stand.add(1_001);
    await advance(stand.clock, 3 * SECOND);
    expect(stand.numbersSent()).toContain('1001');
    await stop();
  });
});
