import { rmSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import pg from 'pg';
import { startEmbeddedPostgres } from '../../../src/adapters/bmdb/embedded/embedded-postgres.ts';
import { migrate } from '../../../src/adapters/bmdb/schema/migrate.ts';
import { silentLog } from '../../../src/adapters/log/port.ts';

/** One embedded PostgreSQL with `fsync`, and as many migrated databases on it as are asked for. */
export interface Server {
  /** Directory of the run, removed with everything in it. */
  readonly dir: string;
  database(): Promise<Database>;
  close(): Promise<void>;
}

export interface Database {
  /** Of the daemons' role. */
  readonly url: string;
  readonly ownerUrl: string;
  /** Does something as the owner. */
  query<T>(task: (sql: pg.Pool) => Promise<T>): Promise<T>;
}

export async function startServer(): Promise<Server> {
  const dir = await mkdtemp(path.join(tmpdir(), 'bench-fleet-'));
  const remove = () => rmSync(dir, { recursive: true, force: true });
  process.once('exit', remove);
  const dataDir = path.join(dir, 'postgres');
  const server = await startEmbeddedPostgres({ dataDir, log: silentLog });
  let count = 0;
  return {
    dir,
    async database() {
      const name = `bench_${(count += 1)}`;
      const named = (url: string) => url.replace(/\/[^/]*$/, `/${name}`);
      await within(server.ownerUrl, (sql) => sql.query(`CREATE DATABASE ${name}`));
      const ownerUrl = named(server.ownerUrl);
      await migrate(ownerUrl, silentLog, { grantTo: server.role });
      return { url: named(server.url), ownerUrl, query: (task) => within(ownerUrl, task) };
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
