import { setTimeout } from 'node:timers/promises';
import type { Random } from '../../src/adapters/clock/port.ts';
import { sum } from './figures.ts';
import { HURRY } from './pace.ts';
import type { RestartablePostgres } from './postgres.ts';
import type { TcpProxy } from './tcp-proxy.ts';
import type { Workers } from './workers.ts';
import type { FaultWorld } from './world.ts';

/** How often each fault was injected. */
export interface FaultCounts {
  kills: number;
  freezes: number;
  restarts: number;
  holds: number;
  cuts: number;
  /** How often an operator stopped recovery. */
  stops: number;
}

export interface ChaosOptions {
  readonly random: Random;
  readonly durationMs: number;
  readonly workers: Workers;
  readonly world: FaultWorld;
  /** One per daemon. */
  readonly proxies: readonly TcpProxy[];
  readonly postgres: RestartablePostgres;
}

/** Longer than the silence before the end, so that nothing has ended if more is needed. */
const MORE_MS = 15_000;
/** Time in which the required events happen even on a busy computer. */
const MORE_MAX_MS = 600_000;

/** Injects every fault for the requested time or until the required events happened. */
export async function wreakHavoc(options: ChaosOptions): Promise<FaultCounts> {
  const faults: FaultCounts = { kills: 0, freezes: 0, restarts: 0, holds: 0, cuts: 0, stops: 0 };
  let endAtMs = performance.now() + options.durationMs;
  const lastMs = endAtMs + MORE_MAX_MS;
  const { surprises } = options.workers;
  const seen = { enough: false };
  const left = () => {
    // A daemon that failed by itself decides the result.
    if (surprises.length > 0) return 0;
    const nowMs = performance.now();
    if (!seen.enough && nowMs < lastMs) endAtMs = Math.max(endAtMs, nowMs + MORE_MS);
    return endAtMs - nowMs;
  };
  const havoc = { ...options, faults, left };
  await Promise.all([
    killing(havoc),
    freezing(havoc),
    restarting(havoc),
    cutting(havoc),
    cutting(havoc),
    silencing(havoc),
    watching(havoc, seen),
  ]);
  return faults;
}

type Havoc = ChaosOptions & { readonly faults: FaultCounts; left(): number };

const oneOf = <T>(random: Random, items: readonly T[]): T | undefined =>
  items[Math.floor(random.next() * items.length)];
const shuffled = <T>(random: Random, items: readonly T[]): T[] =>
  items
    .map((item) => ({ item, key: random.next() }))
    .toSorted((a, b) => a.key - b.key)
    .map(({ item }) => item);
const between = (random: Random, low: number, high: number) => low + random.next() * (high - low);
/** Waits, but not beyond the end. @returns whether time is left. */
async function pause({ left }: Havoc, delayMs: number): Promise<boolean> {
  await setTimeout(Math.max(0, Math.min(delayMs, left())));
  return left() > 0;
}

async function killing(havoc: Havoc): Promise<void> {
  const { random, workers, faults } = havoc;
  while (await pause(havoc, between(random, 500, 5_000))) {
    const run = oneOf(random, workers.ready());
    if (!run) continue;
    faults.kills += 1;
    await workers.kill(run.place);
    await setTimeout(between(random, 0, 1_000));
    workers.start(run.place);
  }
}

/** A daemon that is stopped for twice the session interval wakes up with expired leases. */
async function freezing(havoc: Havoc): Promise<void> {
  const { random, workers, faults } = havoc;
  const pauseMs = 2 * HURRY.sessionIntervalMs;
  while (await pause(havoc, between(random, 1_000, 5_000))) {
    if (havoc.left() < pauseMs) return;
    const run = oneOf(random, workers.ready());
    if (!run) continue;
    workers.freeze(run.place);
    faults.freezes += 1;
    await setTimeout(pauseMs);
    workers.thaw(run.place);
  }
}

async function restarting(havoc: Havoc): Promise<void> {
  const { random, postgres, faults, durationMs } = havoc;
  for (const how of ['fast', 'immediate'] as const) {
    await pause(havoc, durationMs * between(random, 0.25, 0.4));
    await stop(havoc);
    await postgres.restart(how);
    faults.restarts += 1;
  }
}

/** An operator freezes the fleet for a while. */
async function stop({ postgres, faults }: Havoc): Promise<void> {
  await postgres.sql(
    `UPDATE fleet_guard SET frozen_at = now(), frozen_by = 'test', frozen_kind = 'manual',
       reason = 'chaos' WHERE scope = 'fleet'`,
  );
  await setTimeout(1_500);
  await postgres.sql(
    `UPDATE fleet_guard SET frozen_at = NULL, frozen_by = NULL, frozen_kind = NULL, reason = NULL,
       thawed_at = now() WHERE scope = 'fleet'`,
  );
  faults.stops += 1;
}

/** Each twice, because a daemon must find out what the lost call did. */
const COMMIT_BREAKS = ['before', 'during', 'after', 'before', 'during', 'after'] as const;

/** Every fault of a connection, in varying order, so that all of them happen. */
async function cutting(havoc: Havoc): Promise<void> {
  const { random, proxies, faults } = havoc;
  const ways: readonly ((proxy: TcpProxy) => void | Promise<void>)[] = [
    (proxy) => {
      proxy.cut();
      faults.cuts += 1;
    },
    (proxy) => hold(havoc, proxy),
    (proxy) => slow(havoc, proxy),
    (proxy) => delay(havoc, proxy),
    (proxy) => proxy.cutNextMessage(),
    ...COMMIT_BREAKS.map((when) => (proxy: TcpProxy) => proxy.breakNextCommit(when)),
  ];
  while (havoc.left() > 0) {
    for (const way of shuffled(random, ways)) {
      if (!(await pause(havoc, between(random, 200, 1_000)))) return;
      await way(oneOf(random, proxies)!);
    }
  }
}

/** A partition that heals: data sent meanwhile arrives late, or never. */
async function hold({ random, faults, left }: Havoc, proxy: TcpProxy): Promise<void> {
  faults.holds += 1;
  proxy.hold();
  const longMs = between(random, 500, 1.3 * HURRY.sessionIntervalMs);
  await setTimeout(Math.max(0, Math.min(longMs, left())));
  if (random.next() < 0.5) proxy.cut();
  proxy.release();
}

async function slow({ random }: Havoc, proxy: TcpProxy): Promise<void> {
  proxy.slow(between(random, 5, 100));
  await setTimeout(between(random, 500, 2_000));
  proxy.slow(0);
}

/** A late commit is answered late, and everybody else sees it late. */
async function delay({ random }: Havoc, proxy: TcpProxy): Promise<void> {
  proxy.delayCommits(between(random, 50, 400));
  await setTimeout(between(random, 500, 2_000));
  proxy.delayCommits(0);
}

/** Ends early, because the test would only wait for machines that are not yet known to be lost. */
async function silencing(havoc: Havoc): Promise<void> {
  const { random, world } = havoc;
  const untilMs = 2 * HURRY.loss.heartbeatMs;
  while ((await pause(havoc, between(random, 100, 400))) && havoc.left() > untilMs) {
    if (random.next() < 0.8) world.silenceOne();
    else world.muteOne(between(random, 3_000, 6_000));
  }
}

/** Watches until everything that the test must see has happened to working daemons. */
async function watching(havoc: Havoc, seen: { enough: boolean }): Promise<void> {
  const { faults, proxies, world, postgres } = havoc;
  while (!seen.enough && (await pause(havoc, 500))) {
    const counts = { ...faults, ...world.counts, ...sum(proxies.map(({ fired }) => fired)) };
    if (Object.values(counts).includes(0)) continue;
    const [work] = await postgres.sql<{ done: boolean }>(
      `SELECT EXISTS (SELECT FROM work_history WHERE failed_cause = 'session expired')
         AND EXISTS (SELECT FROM work_history
           WHERE process = 'ShepherdRecovery' AND event = 'Finished') AS done`,
    );
    seen.enough = work!.done;
  }
}
