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
import { createWorld, type BenchWorld } from '../bmdb/world.ts';
import { heapInUse } from '../measure.ts';
import { inRounds, scaled, withOpen, type Suite } from '../suite.ts';

const EVENTS = 10_000;
/** Heartbeats in batches of 500, several in flight. */
const MACHINES = 4_000;
const SIGNAL = new AbortController().signal;
const SECRET = `whsec_${Buffer.alloc(32, 'b').toString('base64')}`;
/** An address without a listener. */
const DEAD = 'http://127.0.0.1:1/';

export const suite: Suite = {
  summary: 'a storm of events to a webhook at which nobody answers, beside heartbeats',
  run: (options) =>
    withOpen(createWorld({ free: 0, started: MACHINES, others: 0 }), async (world) => {
      const events = scaled(EVENTS, options);
      const { spanMs } = options;
      const figures = await inRounds(options, (round) =>
        measureStorm(world, { events, spanMs, name: `dead-${round}` }),
      );
      return { events, ...figures };
    }),
};

/** This many simultaneous events for a webhook without an answer, while heartbeats are stored. */
async function measureStorm(
  { bmdb, sql, fleet }: BenchWorld,
  { events, spanMs, name }: { events: number; spanMs: number; name: string },
) {
  const beat = () =>
    measureHeartbeats({ bmdb, machines: fleet.started, warmMs: spanMs / 4, spanMs });
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
  const until = async (isSo: () => boolean | Promise<boolean>) => {
    while (!(await isSo())) await new Promise((resolve) => setTimeout(resolve, 20));
  };
  try {
    await until(async () => {
      const standings = await bmdb.webhooks.list(SIGNAL);
      return Number(standings.find((each) => each.name === name)?.toldTo ?? -1) >= 0;
    });
    const heartbeatsBefore = await beat();
    const heapBefore = heapInUse();
    await sql.query(FILE, [events]);
    // The storm begins at the next poll, so the measurement starts then.
    await until(() => attempts > 0);
    const [fromMs, before] = [performance.now(), attempts];
    const heartbeatsDuring = await beat();
    const heapMb = (heapInUse() - heapBefore) / 1e6;
    const seconds = (performance.now() - fromMs) / 1_000;
    const heartbeatRatio = heartbeatsDuring / heartbeatsBefore;
    const attemptsPerSecond = (attempts - before) / seconds;
    return { attemptsPerSecond, heartbeatsBefore, heartbeatsDuring, heartbeatRatio, heapMb };
  } finally {
    await stop();
    await keeper.close();
    await sql.query('DELETE FROM webhook_deliveries');
  }
}

const FILE = `INSERT INTO fleet_events (type, actor, details)
  SELECT 'guard.thawed', 'bench', '{"scope": "fleet"}' FROM generate_series(1, $1::int)`;
