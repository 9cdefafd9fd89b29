import { availableParallelism, cpus, totalmem } from 'node:os';
import { performance } from 'node:perf_hooks';
import type pg from 'pg';
import { measureRate } from '../measure.ts';
import { POOL_MAX } from './world.ts';

/** What the figures of one run depend on. */
export async function readFacts(sql: pg.Pool): Promise<Record<string, string | number>> {
  const { rows } = await sql.query<Record<string, string>>(
    `SELECT current_setting('server_version') AS postgres, current_setting('fsync') AS fsync,
       current_setting('synchronous_commit') AS "synchronousCommit",
       current_setting('shared_buffers') AS "sharedBuffers"`,
  );
  return {
    cores: availableParallelism(),
    processor: cpus()[0]?.model ?? 'unknown',
    memoryGb: Math.round(totalmem() / 2 ** 30),
    node: process.version,
    ...rows[0]!,
    poolMax: POOL_MAX,
  };
}

/** One connection that commits one small row after the other: what the disk is good for. */
export async function measureCommits(sql: pg.Pool): Promise<number> {
  const client = await sql.connect();
  try {
    await client.query('CREATE TABLE IF NOT EXISTS bench_commits (at float8)');
    const { perSecond } = await measureRate({
      callers: 1,
      warmMs: 100,
      spanMs: 500,
      once: async () => {
        await client.query('INSERT INTO bench_commits VALUES ($1)', [performance.now()]);
        return true;
      },
    });
    await client.query('DROP TABLE bench_commits');
    return perSecond;
  } finally {
    client.release();
  }
}
