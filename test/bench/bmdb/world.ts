import pg from 'pg';
import { createPgBmdb } from '../../../src/adapters/bmdb/pg/pg-bmdb.ts';
import type { Bmdb } from '../../../src/adapters/bmdb/port.ts';
import { systemClock, systemRandom } from '../../../src/adapters/clock/system-clock.ts';
import { silentLog } from '../../../src/adapters/log/port.ts';
import { DEFAULT_BUDGET, DEFAULT_LOSS } from '../../../src/domain/policy.ts';
import { startServer } from '../fleet/database.ts';
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
  const server = await startServer();
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
    await server.close();
  };
  try {
    const [{ url, ownerUrl }, theirs] = [await server.database(), await server.database()];
    const sql = open(ownerUrl, 4);
    const peers = { url: theirs.ownerUrl, sql: open(theirs.ownerUrl, POOL_MAX) };
    const fleet = await loadFleet(sql, size);
    const bmdb = openBmdb(url);
    const close = async () => {
      await bmdb.close();
      await stop();
    };
    return { fleet, bmdb, sql, peers, ownerUrl, close };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** That of a daemon. */
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
