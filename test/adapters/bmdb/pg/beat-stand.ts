import pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, expect } from 'vitest';
import { valuesOf } from '../../../../src/adapters/bmdb/pg/statement.ts';
import type { ArgsOf, Params, Statement } from '../../../../src/adapters/bmdb/pg/statement.ts';
import type { Bmdb } from '../../../../src/adapters/bmdb/port.ts';
import { silentMetrics } from '../../../../src/adapters/metrics/port.ts';
import type { HeartbeatRecord, HeartbeatStore } from '../../../../src/domain/heartbeat.ts';
import type { MachineId } from '../../../../src/domain/ids.ts';
import type { MachineRow } from '../../../../src/domain/machine.ts';
import { KEY, machineRow, startedAt } from '../../../contracts/bmdb-rows.ts';
import { insertMachine, openPgBmdb, PATIENT_MS, startPgServer } from './pg-harness.ts';
import type { PgServer } from './pg-harness.ts';
import { PATIENCE } from '../../../support/patience.ts';

/** Another transaction, held open. */
export interface Transaction {
  query(sql: string, values?: readonly unknown[]): Promise<pg.QueryResult>;
  run(what: Statement, args: Readonly<Record<string, unknown>>): Promise<unknown>;
  commit(): Promise<void>;
  rollback(): Promise<void>;
}

/** Two agent servers on one database, empty for each test. */
export interface BeatStand {
  server: PgServer;
  bmdb: Bmdb;
  other: Bmdb;
  /** Of both: `executed`, `retried` or `failed` transactions of heartbeats since the test began. */
  transactions: string[];
  /** Ends of installations that were counted since the test began. */
  installations: string[];
  begin(): Promise<Transaction>;
  /** Until so many statements wait for a lock. */
  untilBlocked(count?: number): Promise<void>;
  add(change?: Partial<MachineRow>): Promise<MachineId>;
  /** One row of heartbeats, as it is stored. */
  stored(id: MachineId): Promise<StoredBeat | undefined>;
}
export interface StoredBeat {
  readonly at: number;
  readonly boot_id: string | null;
  readonly count: number;
}

/**
 * Registers what sets it up; its fields may be used in tests.
 * @param lockTimeoutMs how long heartbeats wait for a lock.
 * @param start on the shared server when absent.
 */
export function beatStand(
  lockTimeoutMs: number = PATIENT_MS / 8,
  start: () => Promise<PgServer> = startPgServer,
): BeatStand {
  const stand = {} as BeatStand;
  const clients = new Set<pg.Client>();
  beforeAll(async () => {
    stand.server = await start();
    stand.bmdb = connect(stand, lockTimeoutMs);
    stand.other = connect(stand, lockTimeoutMs);
  });
  afterAll(async () => {
    await Promise.all([stand.bmdb.close(), stand.other.close()]);
    await stand.server.stop();
  });
  beforeEach(async () => {
    await stand.server.clear();
    stand.transactions = [];
    stand.installations = [];
  });
  afterEach(async () => {
    await Promise.all([...clients].map((client) => client.end()));
    clients.clear();
  });
  stand.begin = async () => {
    const client = new pg.Client({ connectionString: stand.server.url });
    clients.add(client);
    await client.connect();
    await client.query('BEGIN ISOLATION LEVEL READ COMMITTED');
    return transactionOn(client);
  };
  stand.untilBlocked = async (count = 1) => {
    await expect.poll(() => blocked(stand.server.sql), PATIENCE).toBe(count);
  };
  stand.add = async (change = startedAt(Date.now() - 60_000)) => {
    const row = machineRow(Date.now(), change);
    await insertMachine(stand.server.sql, row);
    return row.machineId;
  };
  stand.stored = async (id) => {
    const { rows } = await stand.server.sql.query<StoredBeat>(STORED, [id]);
    return rows[0];
  };
  return stand;
}

const STORED = `
  SELECT extract(epoch FROM agent_heartbeat_at)::float8 * 1000 AS at, boot_id,
    unbroken_count::int AS count
  FROM machine_agent_heartbeat WHERE machine_id = $1`;

const transactionOn = (client: pg.Client): Transaction => ({
  query: (sql, values = []) => client.query(sql, [...values]),
  run: (what, args) => client.query(what.text, valuesOf(what, args as ArgsOf<Params>)),
  commit: async () => void (await client.query('COMMIT')),
  rollback: async () => void (await client.query('ROLLBACK')),
});

async function blocked(sql: pg.Pool): Promise<number> {
  const { rows } = await sql.query<{ count: number }>(
    `SELECT count(*)::int AS count FROM pg_stat_activity 
         WHERE wait_event_type = 'Lock' AND datname = current_database()`,
  );
  return rows[0]!.count;
}

const connect = (stand: BeatStand, lockTimeoutMs: number): Bmdb =>
  openPgBmdb({
    url: stand.server.url,
    lockTimeoutMs,
    metrics: {
      ...silentMetrics,
      transaction: (outcome, processor) => {
        if (processor === 'bmsrv') stand.transactions.push(outcome);
      },
      installation: (result) => void stand.installations.push(result),
    },
  });

/** What an agent of the machine says. */
export const recordOf = (
  id: MachineId,
  change: Partial<HeartbeatRecord> = {},
): HeartbeatRecord => ({ machineId: id, publicKey: KEY, bootId: null, ...change });

/** Of one heartbeat by itself. */
export const beatOn = async (
  bmdb: Bmdb,
  record: HeartbeatRecord,
): Promise<Awaited<ReturnType<HeartbeatStore['recordHeartbeats']>>[number]> =>
  (await bmdb.heartbeats.recordHeartbeats([record]))[0]!;
