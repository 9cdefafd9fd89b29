import { EventEmitter, once } from 'node:events';
import { performance } from 'node:perf_hooks';
import type pg from 'pg';
import { PgBoss } from 'pg-boss';
import { drained } from './drained.ts';
import type { Peer } from './peer.ts';

const QUEUE = 'nothing';
/** A batch is fetched, handled and completed by one statement each; without a pause while full. */
const BATCHED = {
  batchSize: 2_000,
  localConcurrency: 2,
  burstWhenBatchFull: true,
  pollingIntervalSeconds: 0.5,
};

export function createPgBoss(
  sql: pg.Pool,
  options: { readonly url: string; readonly poolMax: number },
): Peer {
  const withBoss = async <T>(use: (boss: PgBoss) => Promise<T>): Promise<T> => {
    const boss = new PgBoss({
      connectionString: options.url,
      max: options.poolMax,
      supervise: false,
      schedule: false,
    });
    const errors: unknown[] = [];
    boss.on('error', (error) => errors.push(error));
    await boss.start();
    let result: T;
    try {
      result = await use(boss);
    } finally {
      await boss.stop({ graceful: true, timeout: 10_000 });
    }
    if (errors.length > 0) throw new AggregateError(errors, 'pg-boss failed');
    return result;
  };
  return {
    prepare: (jobs) =>
      withBoss(async (boss) => {
        await boss.createQueue(QUEUE);
        await boss.deleteAllJobs(QUEUE);
        for (let queued = 0; queued < jobs; queued += 1_000) {
          const size = Math.min(1_000, jobs - queued);
          await boss.insert(
            QUEUE,
            Array.from({ length: size }, (_, n) => ({ data: { n } })),
          );
        }
        await sql.query('VACUUM (ANALYZE) pgboss.job_common');
      }),
    work: (jobs) => withBoss((boss) => work(boss, sql, jobs)),
  };
}

async function work(boss: PgBoss, sql: pg.Pool, jobs: number): Promise<number> {
  const done = new EventEmitter();
  let startedMs = 0;
  let count = 0;
  const all = once(done, 'all');
  await boss.work(QUEUE, BATCHED, async (batch) => {
    startedMs ||= performance.now();
    count += batch.length;
    if (count >= jobs) done.emit('all');
  });
  await all;
  await drained(sql, `SELECT 1 FROM pgboss.job WHERE name = $1 AND state < 'completed' LIMIT 1`, [
    QUEUE,
  ]);
  return performance.now() - startedMs;
}
