import { createLeases } from '../../../src/actors/leases.ts';
import { createSessionKeeper } from '../../../src/actors/session-keeper.ts';
import { startDeliverer } from '../../../src/actors/webhooks/deliverer.ts';
import { systemClock, systemRandom } from '../../../src/adapters/clock/system-clock.ts';
import { silentLog } from '../../../src/adapters/log/port.ts';
import { silentMetrics } from '../../../src/adapters/metrics/port.ts';
import { createHttpSender } from '../../../src/adapters/webhooks/http-sender.ts';
import { EVENT_TYPES } from '../../../src/domain/events/fleet-event.ts';
import { runService } from '../../support/run-service.ts';
import { measureHeartbeats } from '../bmdb/heartbeats.ts';
import type { World } from '../bmdb/world.ts';
import { heapInUse } from '../measure.ts';

const SIGNAL = new AbortController().signal;
const SECRET = `whsec_${Buffer.alloc(32, 'b').toString('base64')}`;
/** Where nobody listens. */
const DEAD = 'http://127.0.0.1:1/';
const MB = 1_000_000;

export interface StormFigures {
  readonly heartbeatsBefore: number;
  readonly heartbeatsDuring: number;
  /** To deliver an event, new or again. */
  readonly attemptsPerSecond: number;
  /** What was in use in the midst of the storm beyond what was before it, each after a collection. */
  readonly heapMb: number;
}

/** So many events at once for a webhook that nobody answers at, while heartbeats are stored. */
export async function measureStorm(
  { bmdb, sql, fleet }: Pick<World, 'bmdb' | 'sql' | 'fleet'>,
  { events, spanMs, name }: { events: number; spanMs: number; name: string },
): Promise<StormFigures> {
  const beat = (ms: number) =>
    measureHeartbeats({ bmdb, machines: fleet.started, warmMs: spanMs / 4, spanMs: ms });
  const around = { clock: systemClock, random: systemRandom, log: silentLog };
  const keeper = createSessionKeeper({ bmdb, ...around, component: 'bench', runtimeInfo: name });
  await runService(keeper.services.openSession, { intervalMs: 3_600_000 }).result;
  const leases = createLeases({ ...around, keeper, holderOf: () => null, retryMs: 3_000 });
  const http = createHttpSender({
    ...{ url: DEAD, secrets: [() => SECRET], userAgent: 'bench', clock: systemClock },
  });
  let attempts = 0;
  const sender: typeof http = {
    ...http,
    send: (...asked) => {
      attempts += 1;
      return http.send(...asked);
    },
  };
  const stop = startDeliverer(
    { ...around, bmdb, keeper, leases, metrics: silentMetrics, pollMs: 1_000, nowMs: Date.now },
    { name, types: EVENT_TYPES, source: 'urn:bench', sender },
  );
  const toldTo = async () => {
    const standings = await bmdb.webhooks.list(SIGNAL);
    return Number(standings.find((each) => each.name === name)?.toldTo ?? -1);
  };
  try {
    while ((await toldTo()) < 0) await new Promise((resolve) => setTimeout(resolve, 20));
    const heartbeatsBefore = await beat(spanMs);
    const heapBefore = heapMb();
    await sql.query(FILE, [events]);
    // It is noticed at the next poll: before that there is no storm to measure.
    while (attempts === 0) await new Promise((resolve) => setTimeout(resolve, 20));
    const [fromMs, before] = [performance.now(), attempts];
    const heartbeatsDuring = await beat(spanMs);
    const heapDuring = heapMb();
    const seconds = (performance.now() - fromMs) / 1_000;
    return {
      ...{ heartbeatsBefore, heartbeatsDuring, heapMb: heapDuring - heapBefore },
      attemptsPerSecond: (attempts - before) / seconds,
    };
  } finally {
    await stop();
    await keeper.close();
    await sql.query('DELETE FROM webhook_deliveries');
  }
}

const FILE = `INSERT INTO fleet_events (type, actor, details)
  SELECT 'guard.thawed', 'bench', '{"scope": "fleet"}' FROM generate_series(1, $1::int)`;

const heapMb = () => heapInUse() / MB;
