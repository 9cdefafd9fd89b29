import { performance } from 'node:perf_hooks';
import { setTimeout as pause } from 'node:timers/promises';
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

interface MirrorBenchOptions {
  readonly bmdb: Bmdb;
  /** URL of a role that may change machines. */
  readonly url: string;
  readonly machines: readonly MachineId[];
  readonly warmMs: number;
  readonly spanMs: number;
}

const PERIODS = { scanMs: 60_000, pollMs: 5_000, listMs: 60_000 };
/** Longer than the poll period and a scan: news that come later are lost, not late. */
const PATIENCE_MS = 10_000;
/** Pause between two changes. */
const GAP_MS = 20;

/**
 * Moves machines to another rack, one after the other, and measures the mirror's delay after each
 * commit.
 * @returns milliseconds per change.
 * @throws when news of a change did not arrive.
 */
export async function measureMirror(options: MirrorBenchOptions): Promise<number[]> {
  const start = Promise.withResolvers<void>();
  let onLocation: (location: string | null) => void = () => undefined;
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
    onFacts: () => start.resolve(),
    onView: ({ location }) => onLocation(location),
    onVanished: () => undefined,
  });
  const actor = createActor(mirror.service);
  const client = new pg.Client({ connectionString: options.url });
  /** @returns the delay from the statement to the news. */
  const move = async (machine: MachineId): Promise<number> => {
    const moved = `moved-${process.hrtime.bigint()}`;
    const told = new Promise<number>((resolve, reject) => {
      const late = () => reject(new Error('a change never came to the mirror'));
      const timer = setTimeout(late, PATIENCE_MS);
      onLocation = (location) => {
        if (location !== moved) return;
        clearTimeout(timer);
        resolve(performance.now());
      };
    });
    // The time before the statement, because its answer may arrive after the news.
    const sentMs = performance.now();
    await client.query(`UPDATE machine_provided SET provider_location = $2 WHERE machine_id = $1`, [
      ...[machine, moved],
    ]);
    return (await told) - sentMs;
  };
  await client.connect();
  try {
    actor.start();
    await start.promise;
    const beganMs = performance.now();
    const latenciesMs: number[] = [];
    for (const machine of options.machines) {
      const tookMs = await move(machine);
      const passedMs = performance.now() - beganMs;
      // The first reads after a scan wait as long as the scan took.
      if (passedMs > options.warmMs) latenciesMs.push(tookMs);
      if (passedMs > options.warmMs + options.spanMs) break;
      await pause(GAP_MS);
    }
    return latenciesMs;
  } finally {
    actor.stop();
    await client.end();
  }
}
