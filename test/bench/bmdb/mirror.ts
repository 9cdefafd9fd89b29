import { performance } from 'node:perf_hooks';
import pg from 'pg';
import { asyncScheduler, EMPTY } from 'rxjs';
import { createActor } from 'xstate';
import { createMirror } from '../../../src/actors/mirror/mirror.ts';
import type { Bmdb } from '../../../src/adapters/bmdb/port.ts';
import { systemClock, systemRandom } from '../../../src/adapters/clock/system-clock.ts';
import { silentLog } from '../../../src/adapters/log/port.ts';
import { TUNING } from '../../../src/daemon/tuning.ts';
import type { MachineId } from '../../../src/domain/ids.ts';
import { DEFAULT_LOSS } from '../../../src/domain/policy.ts';

export interface MirrorBenchOptions {
  readonly bmdb: Bmdb;
  /** Of a role that may change machines. */
  readonly url: string;
  readonly machines: readonly MachineId[];
  readonly warmMs: number;
  readonly spanMs: number;
}

/** Changes that are committed each second, each of one machine. */
const CHANGES_PER_SECOND = 50;
const PERIODS = { scanMs: 60_000, pollMs: 5_000, listMs: 60_000 };
/** Longer than the period of polls and a scan: then the news is not late but lost. */
const PATIENCE_MS = 10_000;

/**
 * Machines move to another rack all the time; how long after each commit the mirror tells of it.
 * @returns milliseconds, one for each change.
 * @throws when news of a change did not come.
 */
export async function measureMirror(options: MirrorBenchOptions): Promise<number[]> {
  const news = createNews();
  const mirror = createMirror({
    bmdb: options.bmdb,
    providers: new Map(),
    heard$: EMPTY,
    loss: DEFAULT_LOSS,
    ...PERIODS,
    scanGapMs: TUNING.scanGapMs,
    clock: systemClock,
    scheduler: asyncScheduler,
    random: systemRandom,
    log: silentLog,
    onFacts: () => news.started(),
    onView: ({ location }) => news.came(location),
    onVanished: () => undefined,
  });
  const actor = createActor(mirror.service);
  const client = new pg.Client({ connectionString: options.url });
  await client.connect();
  try {
    actor.start();
    await news.start;
    // The first reads after a scan wait as long as it took.
    await changeSteadily(client, { ...options, spanMs: options.warmMs }, news);
    await news.all(PATIENCE_MS);
    await changeSteadily(client, options, news);
    return await news.all(PATIENCE_MS);
  } finally {
    actor.stop();
    await client.end();
  }
}

const nothing = (): void => undefined;
type News = ReturnType<typeof createNews>;

/** Pairs commits with the views that tell of them. */
function createNews() {
  const start = Promise.withResolvers<void>();
  const committedMs = new Map<string, number>();
  /** Of those not asked for yet. */
  const latenciesMs: number[] = [];
  let onComplete = nothing;
  return {
    start: start.promise,
    started: () => start.resolve(),
    committed: (location: string, atMs: number) => committedMs.set(location, atMs),
    came: (location: string | null) => {
      const sinceMs = committedMs.get(location ?? '');
      if (sinceMs === undefined) return;
      committedMs.delete(location!);
      latenciesMs.push(performance.now() - sinceMs);
      if (committedMs.size === 0) onComplete();
    },
    all: (patienceMs: number) =>
      new Promise<number[]>((resolve, reject) => {
        const late = () =>
          reject(new Error(`${committedMs.size} changes never came to the mirror`));
        const timer = setTimeout(late, patienceMs);
        onComplete = () => {
          clearTimeout(timer);
          onComplete = nothing;
          resolve(latenciesMs.splice(0));
        };
        if (committedMs.size === 0) onComplete();
      }),
  };
}

async function changeSteadily(
  client: pg.Client,
  { machines, spanMs }: MirrorBenchOptions,
  news: News,
): Promise<void> {
  const gapMs = 1_000 / CHANGES_PER_SECOND;
  const untilMs = performance.now() + spanMs;
  for (let n = 0; performance.now() < untilMs; n++) {
    const dueMs = performance.now() + gapMs;
    const location = `moved-${process.hrtime.bigint()}`;
    // From before the statement is sent: the answer may come after the news.
    news.committed(location, performance.now());
    await client.query(`UPDATE machine_provided SET provider_location = $2 WHERE machine_id = $1`, [
      ...[machines[n % machines.length], location],
    ]);
    await pause(dueMs - performance.now());
  }
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, Math.max(0, ms)));
