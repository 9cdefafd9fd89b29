import { EventEmitter } from 'node:events';
import { performance } from 'node:perf_hooks';
import { Logger, run, runMigrations } from 'graphile-worker';
import type { RunnerOptions } from 'graphile-worker';
import type pg from 'pg';
import { drained } from './drained.ts';
import type { Peer } from './peer.ts';

const CONCURRENCY = 50;

/**
 * Its own settings for throughput: jobs are fetched in batches into a local queue and completed in
 * batches. These are the ones it publishes its own figures with; sizes of 51 to 2 000 and delays of
 * up to 20 ms were tried, and none was clearly better.
 */
const BATCHED: GraphileConfig.WorkerOptions = {
  localQueue: { size: 500 },
  completeJobBatchDelay: 0,
  failJobBatchDelay: 0,
};

/** `batched`: local queue and batched completion; else every job is fetched and completed alone. */
export function createGraphileWorker(
  sql: pg.Pool,
  options: { readonly batched: boolean; readonly poolMax: number },
): Peer {
  const settings = {
    pgPool: sql,
    concurrency: CONCURRENCY,
    maxPoolSize: options.poolMax,
    noHandleSignals: true,
    logger: new Logger(() => () => undefined),
    preset: { worker: options.batched ? BATCHED : {} },
  };
  return {
    prepare: async (jobs) => {
      await runMigrations(settings);
      await sql.query(
        `SELECT count(*) FROM (SELECT graphile_worker.add_job('nothing', json_build_object('n', n))
         FROM generate_series(1, $1::int) n) jobs`,
        [jobs],
      );
      // What a queue that has been running for a while has behind it, and a good plan.
      await sql.query('VACUUM (ANALYZE) graphile_worker._private_jobs');
    },
    work: (jobs) => work(sql, settings, jobs),
  };
}

async function work(sql: pg.Pool, settings: RunnerOptions, jobs: number): Promise<number> {
  const done = new EventEmitter();
  let startedMs = 0;
  let count = 0;
  const nothing = () => {
    startedMs ||= performance.now();
    count += 1;
    if (count === jobs) done.emit('all');
  };
  const all = new Promise<void>((resolve) => done.once('all', resolve));
  const runner = await run({ ...settings, taskList: { nothing } });
  try {
    await all;
    await drained(sql, 'SELECT 1 FROM graphile_worker._private_jobs LIMIT 1');
    return performance.now() - startedMs;
  } finally {
    await runner.stop();
  }
}
