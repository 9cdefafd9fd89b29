import { createLeases } from '../../../src/actors/leases.ts';
import { createSessionKeeper } from '../../../src/actors/session-keeper.ts';
import { startDeliverer } from '../../../src/actors/webhooks/deliverer.ts';
import type { Bmdb } from '../../../src/adapters/bmdb/port.ts';
import type { Delivery } from '../../../src/adapters/webhooks/port.ts';
import { EVENT_TYPES, type EventType } from '../../../src/domain/events/fleet-event.ts';
import type { DeliveryAnswer } from '../../../src/domain/events/retries.ts';
import { DEFAULT_BUDGET, DEFAULT_LOSS } from '../../../src/domain/policy.ts';
import { createMemBmdb } from '../../doubles/mem-bmdb/mem-bmdb.ts';
import { createMemMetrics } from '../../doubles/mem-metrics.ts';
import { recordingLog } from '../../doubles/recording-log.ts';
import { createSeededRandom, createSimulatedClock } from '../../doubles/simulated-clock.ts';
import { runService } from '../../support/run-service.ts';

export const HOOK = 'pager';
const SESSION_MS = 1_000 * 3_600_000;

export interface SentDelivery extends Delivery {
  /** The event's number. */
  readonly number: string;
  readonly atMs: number;
  readonly daemon: number;
}
type Receiver = (
  sent: SentDelivery,
  signal: AbortSignal,
) => DeliveryAnswer | Promise<DeliveryAnswer>;
export const status = (code: number, retryAfterMs: number | null = null): DeliveryAnswer => ({
  ...{ status: code, retryAfterMs },
});

/** A receiver, daemons that deliver to it, and an in-memory database, in virtual time. */
export function webhookStand(receive: Receiver = () => status(200)) {
  const clock = createSimulatedClock();
  const beganMs = clock.monotonic();
  const random = createSeededRandom(1);
  const bmdb = createMemBmdb({ clock, random, loss: DEFAULT_LOSS, budget: DEFAULT_BUDGET });
  const sent: SentDelivery[] = [];
  const metrics = createMemMetrics();
  const log = recordingLog();
  let daemons = 0;
  const world = { receive };
  return {
    ...{ clock, bmdb, sent, metrics, log, world },
    numbersSent: () => sent.map(({ number }) => number),
    add: async (count: number, type: EventType = 'guard.thawed') => {
      for (let each = 0; each < count; each++) {
        await bmdb.events.append({ type, actor: 'ann', reason: `${each}`, details: {} });
      }
    },
    /** A separate daemon with a session, without randomness unless a test asks for it. */
    daemon: async (
      how: { pollMs?: number; types?: readonly EventType[]; chance?: number; through?: Bmdb } = {},
    ) => {
      const { pollMs = 1_000, types = EVENT_TYPES, chance = 0, through = bmdb } = how;
      const daemon = ++daemons;
      const options = { bmdb: through, log, component: 'shepherd', runtimeInfo: 'test' };
      const keeper = createSessionKeeper(options);
      await runService(keeper.services.openSession, { intervalMs: SESSION_MS }).result;
      const leases = createLeases({
        ...{ keeper, holderOf: () => null, clock, random, log, retryMs: 3_000 },
      });
      const stop = startDeliverer(
        {
          ...{ bmdb: through, keeper, leases, clock, log, metrics, pollMs },
          random: { ...random, next: () => chance },
          nowMs: () => clock.now(),
        },
        {
          ...{ name: HOOK, types, source: 'urn:test' },
          sender: {
            send: async (delivery, signal) => {
              const { data } = JSON.parse(delivery.body) as { data: { number: string } };
              const { number } = data;
              const one = { ...delivery, number, atMs: clock.monotonic() - beganMs, daemon };
              sent.push(one);
              return world.receive(one, signal);
            },
            close: () => undefined,
          },
        },
      );
      return { keeper, leases, stop };
    },
  };
}
