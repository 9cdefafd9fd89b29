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
/** Number of started agents, and the time from the first intent to the last start. */
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

/** One embedded PostgreSQL with `fsync`, and any number of migrated databases on it. */
export async function startServer() {
  const dir = await mkdtemp(path.join(tmpdir(), 'bench-fleet-'));
  const remove = () => rmSync(dir, { recursive: true, force: true });
  process.once('exit', remove);
  const dataDir = path.join(dir, 'postgres');
  const server = await startEmbeddedPostgres({ dataDir, log: silentLog });
  let count = 0;
  return {
    /** The run's directory, removed with its contents. */
    dir,
    async database() {
      const name = `bench_${(count += 1)}`;
      const named = (url: string) => url.replace(/\/[^/]*$/, `/${name}`);
      await within(server.ownerUrl, (sql) => sql.query(`CREATE DATABASE ${name}`));
      const ownerUrl = named(server.ownerUrl);
      await migrate(ownerUrl, silentLog, { grantTo: server.role });
      return {
        /** URL for the daemons' role. */
        ...{ url: named(server.url), ownerUrl },
        /** Runs a task as the owner. */
        query: <T>(task: (sql: pg.Pool) => Promise<T>) => within(ownerUrl, task),
        /** Waits until this many agents run. @returns seconds from first intent to last start. */
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
  // The server may stop before the last connection is closed.
  pool.on('error', () => undefined);
  try {
    return await task(pool);
  } finally {
    await pool.end();
  }
}
