import { rmSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import pg from 'pg';
import { startEmbeddedPostgres } from '../../../src/adapters/bmdb/embedded/embedded-postgres.ts';
import { createPgBmdb } from '../../../src/adapters/bmdb/pg/pg-bmdb.ts';
import type { Bmdb } from '../../../src/adapters/bmdb/port.ts';
import { migrate } from '../../../src/adapters/bmdb/schema/migrate.ts';
import { systemClock, systemRandom } from '../../../src/adapters/clock/system-clock.ts';
import { silentLog } from '../../../src/adapters/log/port.ts';
import { DEFAULT_BUDGET, DEFAULT_LOSS } from '../../../src/domain/policy.ts';
import { loadFleet } from './fleet.ts';
import type { Fleet, FleetSize } from './fleet.ts';

/** The same for ours and for every peer; what a daemon has. */
export const POOL_MAX = 10;

/** One embedded PostgreSQL as a daemon uses it, with `fsync`, and everything that is measured. */
export interface World {
  readonly fleet: Fleet;
  readonly bmdb: Bmdb;
  /** Of the role that owns everything. */
  readonly ownerUrl: string;
  /** Its connections, for setting up and looking. */
  readonly sql: pg.Pool;
  /** A database of the peers' own on the same server. */
  readonly peers: { readonly url: string; readonly sql: pg.Pool };
  close(): Promise<void>;
}

export async function createWorld(size: FleetSize): Promise<World> {
  const dataDir = await mkdtemp(path.join(tmpdir(), 'bench-'));
  const remove = () => rmSync(dataDir, { recursive: true, force: true });
  process.once('exit', remove);
  const server = await startEmbeddedPostgres({ dataDir, log: silentLog });
  const pools: pg.Pool[] = [];
  const open = (connectionString: string, max: number) => {
    const pool = new pg.Pool({ connectionString, max });
    // Connections that nobody uses may hear that the server stops; a query that fails says so itself.
    pool.on('error', () => undefined);
    pool.on('connect', (client) => client.on('error', () => undefined));
    pools.push(pool);
    return pool;
  };
  const stop = async () => {
    await Promise.all(pools.map((pool) => pool.end()));
    await server.stop();
    remove();
    process.off('exit', remove);
  };
  try {
    await migrate(server.ownerUrl, silentLog, { grantTo: server.role });
    const sql = open(server.ownerUrl, 4);
    await sql.query('CREATE DATABASE peers');
    const peersUrl = server.ownerUrl.replace(/\/[^/]*$/, '/peers');
    const peers = { url: peersUrl, sql: open(peersUrl, POOL_MAX) };
    const fleet = await loadFleet(sql, size);
    const bmdb = openBmdb(server.url);
    const close = async () => {
      await bmdb.close();
      await stop();
    };
    return { fleet, bmdb, sql, peers, ownerUrl: server.ownerUrl, close };
  } catch (error) {
    await stop();
    throw error;
  }
}

const openBmdb = (url: string): Bmdb =>
  createPgBmdb({
    url,
    clock: systemClock,
    random: systemRandom,
    log: silentLog,
    poolMax: POOL_MAX,
    loss: DEFAULT_LOSS,
    budget: DEFAULT_BUDGET,
  });
