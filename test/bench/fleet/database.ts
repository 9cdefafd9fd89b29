import { rmSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { performance } from 'node:perf_hooks';
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { startEmbeddedPostgres } from '../../../src/adapters/bmdb/embedded/embedded-postgres.ts';
import { migrate } from '../../../src/adapters/bmdb/schema/migrate.ts';
import { silentLog } from '../../../src/adapters/log/port.ts';

export type BenchServer = Awaited<ReturnType<typeof startServer>>;
export type Database = Awaited<ReturnType<BenchServer['database']>>;

const POLL_MS = 20;
const LIMIT_MS = 10 * 60_000;
/** How many agents were started, and how long after the first intent the last of them was. */
const STARTED = `
  SELECT count(*)::int AS n,
         extract(epoch FROM max(agent_started_at)
           - (SELECT min(created_at) FROM provision_intents))::float8 AS seconds
    FROM machine_agent_started`;

async function untilStarted(sql: pg.Pool, machines: number): Promise<number> {
  const giveUpMs = performance.now() + LIMIT_MS;
  for (;;) {
    const { rows } = await sql.query<{ n: number; seconds: number }>(STARTED);
    const { n, seconds } = rows[0]!;
    if (n >= machines) return seconds;
    if (performance.now() > giveUpMs) throw new Error(`only ${n} of ${machines} came up`);
    await pause(POLL_MS);
  }
}

/** One embedded PostgreSQL with `fsync`, and as many migrated databases on it as are asked for. */
export async function startServer() {
  const dir = await mkdtemp(path.join(tmpdir(), 'bench-fleet-'));
  const remove = () => rmSync(dir, { recursive: true, force: true });
  process.once('exit', remove);
  const dataDir = path.join(dir, 'postgres');
  const server = await startEmbeddedPostgres({ dataDir, log: silentLog });
  let count = 0;
  return {
    /** Directory of the run, removed with everything in it. */
    dir,
    async database() {
      const name = `bench_${(count += 1)}`;
      const named = (url: string) => url.replace(/\/[^/]*$/, `/${name}`);
      await within(server.ownerUrl, (sql) => sql.query(`CREATE DATABASE ${name}`));
      const ownerUrl = named(server.ownerUrl);
      await migrate(ownerUrl, silentLog, { grantTo: server.role });
      return {
        /** Of the daemons' role. */
        ...{ url: named(server.url), ownerUrl },
        /** Does something as the owner. */
        query: <T>(task: (sql: pg.Pool) => Promise<T>) => within(ownerUrl, task),
        /** Waits until the agents of so many machines run. @returns seconds from the first intent to the last start. */
        started: (machines: number) => within(ownerUrl, (sql) => untilStarted(sql, machines)),
      };
    },
    async close() {
      await server.stop();
      remove();
      process.off('exit', remove);
    },
  };
}

async function within<T>(url: string, task: (sql: pg.Pool) => Promise<T>): Promise<T> {
  const pool = new pg.Pool({ connectionString: url, max: 2 });
  // The server may be stopped before the last of them has said goodbye.
  pool.on('error', () => undefined);
  try {
    return await task(pool);
  } finally {
    await pool.end();
  }
}
