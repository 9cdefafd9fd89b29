import { availableParallelism, cpus, totalmem } from 'node:os';
import pg from 'pg';
import { createPgBmdb } from '../../../src/adapters/bmdb/pg/pg-bmdb.ts';
import type { Bmdb } from '../../../src/adapters/bmdb/port.ts';
import { systemClock, systemRandom } from '../../../src/adapters/clock/system-clock.ts';
import { silentLog } from '../../../src/adapters/log/port.ts';
import { DEFAULT_BUDGET, DEFAULT_LOSS } from '../../../src/domain/policy.ts';
import { startServer } from '../fleet/database.ts';
import { measureRate } from '../measure.ts';
import { loadFleet, type Fleet, type FleetSize } from './fleet.ts';

/** A daemon's pool size. */
const POOL_MAX = 10;

/** One embedded PostgreSQL as a daemon uses it, with `fsync`, and all measured parts. */
export interface BenchWorld {
  readonly fleet: Fleet;
  readonly bmdb: Bmdb;
  /** URL of the role that owns everything. */
  readonly ownerUrl: string;
  /** The owner's connections, for preparation and checks. */
  readonly sql: pg.Pool;
  close(): Promise<void>;
}

export async function createWorld(size: FleetSize): Promise<BenchWorld> {
  const server = await startServer();
  try {
    const { url, ownerUrl } = await server.database();
    const sql = new pg.Pool({ connectionString: ownerUrl, max: 4 });
    // Idle connections may hear that the server stops; a failed query reports itself.
    sql.on('error', () => undefined);
    const fleet = await loadFleet(sql, size);
    const bmdb = openBmdb(url);
    const close = async () => {
      await bmdb.close();
      await sql.end();
      await server.close();
    };
    return { fleet, bmdb, sql, ownerUrl, close };
  } catch (error) {
    await server.close();
    throw error;
  }
}

/** A daemon's BMDB. */
export const openBmdb = (url: string): Bmdb =>
  createPgBmdb({
    url,
    clock: systemClock,
    random: systemRandom,
    log: silentLog,
    poolMax: POOL_MAX,
    loss: DEFAULT_LOSS,
    budget: DEFAULT_BUDGET,
  });

/** The conditions of one run's figures. */
export async function readFacts(sql: pg.Pool): Promise<object> {
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

/** One connection that commits one small row after the other: the disk's limit. */
export async function measureCommits(sql: pg.Pool): Promise<number> {
  const client = await sql.connect();
  try {
    await client.query('CREATE TABLE IF NOT EXISTS bench_commits (at float8)');
    const { perSecond } = await measureRate({
      ...{ callers: 1, warmMs: 100, spanMs: 500 },
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
