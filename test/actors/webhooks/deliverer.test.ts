import { describe, expect, it } from 'vitest';
import type { Bmdb } from '../../../src/adapters/bmdb/port.ts';
import type { Clock } from '../../../src/adapters/clock/port.ts';
import { Unreachable } from '../../../src/domain/errors.ts';
import type { DeliveryAnswer } from '../../../src/domain/events/retries.ts';
import { advance, createSeededRandom } from '../../doubles/simulated-clock.ts';
import { HOOK, status, webhookStand } from './webhook-stand.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const SIGNAL = new AbortController().signal;
const numbers = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, at) => String(from + at));

describe('deliveries to a webhook', () => {
  it('cover events from the first daemon on, of the wanted types, as CloudEvents', async () => {
    const stand = webhookStand();
    await stand.add(3);
    const { stop } = await stand.daemon({ types: ['guard.thawed'] });
    await advance(stand.clock, 2 * SECOND);
    await stand.add(2);
    await stand.add(1, 'guard.frozen');
    await advance(stand.clock, 2 * SECOND);
    expect(stand.numbersSent()).toEqual(['4', '5']);
    expect(JSON.parse(stand.sent[0]!.body)).toMatchObject({
      ...{ specversion: '1.0', id: stand.sent[0]!.id, source: 'urn:test', type: 'guard.thawed' },
      data: { number: '4', actor: 'ann', reason: '0' },
    });
    const test = { type: 'webhook.test', actor: 'ann', reason: '' } as const;
    for (const webhook of ['another', HOOK]) {
      await stand.bmdb.events.append({ ...test, details: { webhook } });
    }
    await advance(stand.clock, 2 * SECOND);
    expect(stand.numbersSent()).toEqual(['4', '5', '8']);
    expect(await stand.bmdb.webhooks.list(SIGNAL)).toMatchObject([{ toldTo: '8', waiting: 0 }]);
    await stop();
  });

  it('V58: succeed after 500 twice, at the documented times', async () => {
    const answers = [status(500), status(500), status(200)];
    const stand = webhookStand(() => answers.shift()!);
    const { stop } = await stand.daemon({ pollMs: 100 });
    await advance(stand.clock, SECOND);
    const atMs = stand.clock.monotonic();
    await stand.add(1);
    await advance(stand.clock, 6 * MINUTE);
    const times = stand.sent.map((sent) => Math.round((sent.atMs - atMs) / SECOND));
    expect(times).toEqual([0, 5, 305]);
    expect(new Set(stand.numbersSent())).toEqual(new Set(['1']));
    expect(await stand.bmdb.webhooks.list(SIGNAL)).toMatchObject([{ waiting: 0, dead: 0 }]);
    await stop();
  });

  it('V58: count a redirect, a timeout and a 429 as failures and respect Retry-After', async () => {
    const answers: DeliveryAnswer[] = [
      status(302),
      { status: null, cause: 'no complete reply within the time limit' },
      status(429, 2 * HOUR),
      status(204),
    ];
    const stand = webhookStand(() => answers.shift()!);
    const { stop } = await stand.daemon({ pollMs: SECOND });
    await advance(stand.clock, 10 * SECOND);
    const atMs = stand.clock.monotonic();
    await stand.add(1);
    const causes: string[] = [];
    for (let minutes = 0; minutes < 150; minutes++) {
      await advance(stand.clock, MINUTE);
      const [failed] = await stand.bmdb.webhooks.deliveries({ webhook: HOOK, limit: 1 }, SIGNAL);
      if (failed && failed.cause !== causes.at(-1)) causes.push(failed.cause);
    }
    const times = stand.sent.map((sent) => Math.floor((sent.atMs - atMs) / MINUTE));
    // 5 s and 5 min as configured; then two hours instead of 30 min.
    expect(times).toEqual([0, 0, 5, 125]);
    expect(causes).toEqual(['no complete reply within the time limit', 'it answered 429']);
    await stop();
  });

  it('V58 V60: try ten times in 75 hours, at most a fifth late, then keep a dead letter, replayed once', async () => {
    const stand = webhookStand(() => status(503));
    const { stop } = await stand.daemon({ pollMs: 30 * SECOND, chance: 1 });
    await advance(stand.clock, MINUTE);
    await stand.add(1);
    await advance(stand.clock, 92 * HOUR);
    const gaps = stand.sent.slice(1).map(({ atMs }, at) => atMs - stand.sent[at]!.atMs);
    const written = [5 / 3_600, 5 / 60, 0.5, 2, 5, 10, 14, 20, 24].map((hours) => hours * HOUR);
    expect(gaps.length).toBe(written.length);
    for (const [at, gapMs] of gaps.entries()) {
      expect(gapMs, `pause ${at}`).toBeGreaterThanOrEqual(written[at]! * 1.2);
      expect(gapMs, `pause ${at}`).toBeLessThan(written[at]! * 1.2 + 61 * SECOND);
    }
    const letters = () =>
      stand.bmdb.webhooks.deliveries({ webhook: HOOK, state: 'dead', limit: 9 }, SIGNAL);
    expect(await letters()).toMatchObject([{ number: '1', attempts: 10, status: 503 }]);
    // The counter exists before its first increase, because otherwise the alert would miss that.
    const counted = stand.metrics.calls.find(({ labels }) => labels['outcome'] === 'dead');
    expect(counted).toMatchObject({ labels: { webhook: HOOK }, value: 0 });
    expect(
      stand.metrics.total('shepherd_webhook_deliveries_total', { webhook: HOOK, outcome: 'dead' }),
    ).toBe(1);
    await advance(stand.clock, 24 * HOUR);
    expect(stand.sent).toHaveLength(10);
    stand.world.receive = () => status(200);
    expect(await stand.bmdb.webhooks.replay(HOOK, '1')).toBe(true);
    await advance(stand.clock, 24 * HOUR);
    expect(stand.numbersSent()).toEqual(Array(11).fill('1'));
    expect(await letters()).toEqual([]);
    expect(await stand.bmdb.webhooks.replay(HOOK, '1')).toBe(false);
    await stop();
  });

  it('V58: end at 410 until somebody enables the webhook, then continue where they stopped', async () => {
    const stand = webhookStand(({ number }) => status(number === '2' ? 410 : 200));
    const { stop } = await stand.daemon();
    await advance(stand.clock, 2 * SECOND);
    await stand.add(2);
    await advance(stand.clock, 2 * SECOND);
    await stand.add(3);
    await advance(stand.clock, HOUR);
    expect(stand.numbersSent()).toEqual(['1', '2']);
    const { told } = stand.bmdb.tables;
    expect(told.filter(({ type }) => type === 'webhook.disabled')).toHaveLength(1);
    stand.world.receive = () => status(200);
    await stand.bmdb.webhooks.enable(HOOK);
    await advance(stand.clock, MINUTE);
    expect(stand.numbersSent().slice(2).toSorted()).toEqual(['2', '3', '4', '5', '6']);
    await stop();
  });

  it('report an exception and try again as after other failures', async () => {
    let isWrong = true;
    const stand = webhookStand(() => {
      if (isWrong) throw new TypeError('a mistake of ours');
      return status(200);
    });
    const { stop } = await stand.daemon();
    await advance(stand.clock, 2 * SECOND);
    await stand.add(2);
    await advance(stand.clock, 2 * SECOND);
    expect(stand.log.count('an event could not be sent')).toBe(2);
    expect(await stand.bmdb.webhooks.deliveries({ webhook: HOOK, limit: 9 }, SIGNAL)).toMatchObject(
      [
        { number: '2', attempts: 1, status: null, cause: 'a mistake of ours' },
        { number: '1', attempts: 1, status: null, cause: 'a mistake of ours' },
      ],
    );
    isWrong = false;
    await advance(stand.clock, 10 * SECOND);
    expect(stand.numbersSent()).toEqual(['1', '2', '1', '2']);
    expect(await stand.bmdb.webhooks.list(SIGNAL)).toMatchObject([{ toldTo: '2', waiting: 0 }]);
    await stop();
  });

  it('do not count as failed at a stop, and are made by the next daemon', async () => {
    const stand = webhookStand(
      (_, signal) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason as Error));
        }),
    );
    const one = await stand.daemon();
    await advance(stand.clock, 2 * SECOND);
    await stand.add(1);
    await advance(stand.clock, 2 * SECOND);
    await one.stop();
    await one.keeper.close();
    expect(stand.log.lines.filter(({ level }) => level !== 'info')).toEqual([]);
    expect(await stand.bmdb.webhooks.list(SIGNAL)).toMatchObject([{ toldTo: '0', waiting: 0 }]);
    stand.world.receive = () => status(200);
    const { stop } = await stand.daemon();
    await advance(stand.clock, 2 * SECOND);
    expect(stand.numbersSent()).toEqual(['1', '1']);
    expect(new Set(stand.sent.map(({ id }) => id)).size).toBe(1);
    await stop();
  });

  it('rest after a mistake of ours, with an error; failures of others are no error', async () => {
    const stand = webhookStand();
    let fails: Error | null = new TypeError('a mistake of ours');
    const { bmdb } = stand;
    const events: Bmdb['events'] = {
      ...bmdb.events,
      read: (...query) => (fails ? Promise.reject(fails) : bmdb.events.read(...query)),
    };
    const { stop } = await stand.daemon({ through: { ...bmdb, events } });
    const told = () =>
      stand.log.lines
        .filter(({ message }) => message === 'deliveries to a webhook pause for now')
        .map(({ level }) => level);
    await advance(stand.clock, 5 * SECOND);
    expect(told()).toEqual(['error']);
    fails = new Unreachable('the database is away');
    await advance(stand.clock, 10 * SECOND);
    expect(told()).toEqual(['error', 'debug']);
    fails = null;
    await stand.add(1);
    await advance(stand.clock, 12 * SECOND);
    expect(stand.numbersSent()).toEqual(['1']);
    await stop();
  });

  it('that hang or fail delay no other, four at a time', async () => {
    const hanging = new Set(['3', '7']);
    let most = 0;
    let now = 0;
    const stand = webhookStand(async ({ number }, signal) => {
      most = Math.max(most, ++now);
      if (hanging.has(number)) {
        await new Promise((resolve) => {
          stand.clock.setTimeout(() => resolve(null), 15 * SECOND);
          signal.addEventListener('abort', resolve);
        });
      } else await Promise.resolve();
      now -= 1;
      return hanging.has(number)
        ? { status: null, cause: 'no complete reply within the time limit' }
        : status(200);
    });
    const { stop } = await stand.daemon();
    await advance(stand.clock, 2 * SECOND);
    await stand.add(60);
    await advance(stand.clock, 5 * SECOND);
    expect(new Set(stand.numbersSent()).size).toBe(60);
    expect(most).toBe(4);
    const [standing] = await stand.bmdb.webhooks.list(SIGNAL);
    expect(standing).toMatchObject({ toldTo: '2' });
    await advance(stand.clock, 16 * SECOND);
    expect(await stand.bmdb.webhooks.list(SIGNAL)).toMatchObject([{ toldTo: '60', waiting: 2 }]);
    await stop();
  });

  it('are made by one daemon at a time; the next continues where it stopped', async () => {
    const stand = webhookStand();
    const [one, two] = [await stand.daemon(), await stand.daemon()];
    await advance(stand.clock, 5 * SECOND);
    await stand.add(10);
    await advance(stand.clock, 5 * SECOND);
    expect(new Set(stand.sent.map(({ daemon }) => daemon)).size).toBe(1);
    await (stand.sent[0]!.daemon === 1 ? one : two).stop();
    for (const { keeper } of [one, two].slice(stand.sent[0]!.daemon - 1).slice(0, 1))
      await keeper.close();
    await stand.add(10);
    await advance(stand.clock, 20 * SECOND);
    expect(stand.numbersSent()).toEqual(numbers(1, 20));
    expect(new Set(stand.sent.map(({ daemon }) => daemon)).size).toBe(2);
    await Promise.all([one.stop(), two.stop()]);
  });

  it('V59: are sent at least once, with the same id and body, over 200 kills', async () => {
    const chance = createSeededRandom(7);
    const stand = webhookStand(() => status(chance.next() < 0.2 ? 500 : 200));
    let life = await stand.daemon();
    await advance(stand.clock, 2 * SECOND);
    await life.stop();
    await life.keeper.close();
    let kills = 0;
    let added = 0;
    while (kills < 200) {
      let isKilled = false;
      const through = dyingAt(stand.bmdb, Math.floor(chance.next() * 3), () => {
        isKilled = true;
        kills += 1;
      });
      life = await stand.daemon({ through });
      const count = 1 + Math.floor(chance.next() * 5);
      await stand.add(count);
      added += count;
      await advance(stand.clock, 7 * SECOND);
      await life.stop();
      await life.keeper.close();
      expect(isKilled || kills === 200 || added > 0).toBe(true);
    }
    stand.world.receive = () => status(200);
    const { stop } = await stand.daemon();
    await advance(stand.clock, HOUR);
    await stop();
    const bodies = new Map<string, Set<string>>();
    for (const { id, body } of stand.sent) bodies.set(id, (bodies.get(id) ?? new Set()).add(body));
    expect(new Set(stand.numbersSent())).toEqual(new Set(numbers(1, added)));
    expect(bodies.size).toBe(added);
    for (const [id, seen] of bodies) expect(seen.size, id).toBe(1);
    expect(stand.sent.length).toBeGreaterThan(added);
    expect(await stand.bmdb.webhooks.list(SIGNAL)).toMatchObject([{ waiting: 0, dead: 0 }]);
  });

  it('are recorded when they end while others are being recorded', async () => {
    const stand = webhookStand(async ({ number }) => {
      await new Promise((resolve) =>
        stand.clock.setTimeout(() => resolve(null), 7 * (1 + (Number(number) % 3))),
      );
      return status(200);
    });
    const { stop } = await stand.daemon({ through: slowlyWriting(stand.bmdb, stand.clock, 50) });
    await advance(stand.clock, 2 * SECOND);
    await stand.add(300);
    await advance(stand.clock, 10 * SECOND);
    expect(await stand.bmdb.webhooks.list(SIGNAL)).toMatchObject([{ toldTo: '300', waiting: 0 }]);
    expect(stand.numbersSent().toSorted((a, b) => Number(a) - Number(b))).toEqual(numbers(1, 300));
    await stop();
  });
});

/** The same database behind a slow connection. */
function slowlyWriting(bmdb: Bmdb, clock: Clock, ms: number): Bmdb {
  return {
    ...bmdb,
    openSession: async (options) => {
      const session = await bmdb.openSession(options);
      const { webhooks } = session;
      const record: typeof webhooks.record = async (...asked) => {
        await new Promise((resolve) => clock.setTimeout(() => resolve(null), ms));
        return webhooks.record(...asked);
      };
      return { ...session, webhooks: { ...webhooks, record } };
    },
  };
}

/** The same database; the process dies at the n-th record of a delivery. */
function dyingAt(bmdb: Bmdb, at: number, onDeath: () => void): Bmdb {
  let writes = 0;
  const dead = () => {
    throw new Unreachable('this process is dead');
  };
  return {
    ...bmdb,
    openSession: async (options) => {
      const session = await bmdb.openSession(options);
      const { webhooks } = session;
      return {
        ...session,
        webhooks: {
          begin: async (...asked) => (writes > at ? dead() : webhooks.begin(...asked)),
          due: async (...asked) => (writes > at ? dead() : webhooks.due(...asked)),
          record: async (lease, name, results) => {
            const isOfDeliveries = results.hasDelivered || results.failed.length > 0;
            if (isOfDeliveries && writes++ === at) onDeath();
            return writes > at ? dead() : webhooks.record(lease, name, results);
          },
        },
      };
    },
  };
}
