import pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, expect, vi } from 'vitest';
import { valuesOf } from '../../../../src/adapters/bmdb/pg/statement.ts';
import type { ArgsOf, Params, Statement } from '../../../../src/adapters/bmdb/pg/statement.ts';
import type { Bmdb, BmdbSession, FinishChange } from '../../../../src/adapters/bmdb/port.ts';
import type { Metrics } from '../../../../src/adapters/metrics/port.ts';
import { codeOf } from '../../../../src/domain/errors.ts';
import type { MachineId } from '../../../../src/domain/ids.ts';
import type { MachineRow } from '../../../../src/domain/machine.ts';
import { KEY, machineRow } from '../../../contracts/bmdb-rows.ts';
import { startBreakingProxy } from './breaking-proxy.ts';
import type { BreakingProxy } from './breaking-proxy.ts';
import { insertMachine, openPgBmdb, PATIENT_MS, startPgServer } from './pg-harness.ts';
import type { PgServer } from './pg-harness.ts';
import { createMovedClock, type MovedClock } from '../../../support/moved-time.ts';
import { PATIENCE } from '../../../support/patience.ts';

export const SIGNAL = new AbortController().signal;
export const STARTED: Extract<FinishChange, { kind: 'agentStarted' }> = {
  kind: 'agentStarted',
  publicKey: KEY,
  bootId: null,
  hostKey: null,
  warnings: [],
};

/** Two daemons on one database, which is emptied for each test. */
export interface ClaimStand {
  server: PgServer;
  /** Before the first daemon only. */
  proxy: BreakingProxy;
  /** Of both daemons; the database's time is the real one. */
  clock: MovedClock;
  bmdb: Bmdb;
  other: Bmdb;
  /** Of the first daemon. */
  session: BmdbSession;
  /** Of the other one. */
  rival: BmdbSession;
  /** Ended after each test. */
  readonly clients: Set<pg.Client>;
}

/** For tests in which somebody has locked a row and does not let go. */
export const SOON_MS = 20;

interface StandOptions {
  /** On the shared server when absent. */
  readonly start?: () => Promise<PgServer>;
  /** Of both daemons. */
  readonly metrics?: Metrics;
}

/**
 * Registers what sets it up; its fields may be used in tests.
 * @param lockTimeoutMs how long the BMDBs wait for a lock.
 */
export function claimStand(
  lockTimeoutMs = PATIENT_MS / 8,
  { start = startPgServer, metrics }: StandOptions = {},
): ClaimStand {
  const stand = { clients: new Set() } as ClaimStand;
  beforeAll(async () => {
    stand.server = await start();
    stand.proxy = await startBreakingProxy(stand.server.url);
    stand.clock = createMovedClock();
    const options = { clock: stand.clock, lockTimeoutMs, ...(metrics && { metrics }) };
    stand.bmdb = openPgBmdb({ url: stand.proxy.url, ...options });
    stand.other = openPgBmdb({ url: stand.server.url, ...options });
  });
  afterAll(async () => {
    await stand.bmdb.close();
    await stand.other.close();
    await stand.proxy.close();
    await stand.server.stop();
  });
  beforeEach(async () => {
    stand.proxy.reset();
    stand.clock.runsOn = true;
    await stand.server.clear();
    stand.session = await openOn(stand.bmdb);
    stand.rival = await openOn(stand.other);
  });
  afterEach(async () => {
    await Promise.all([...stand.clients].map((client) => client.end()));
    stand.clients.clear();
  });
  return stand;
}

export const openOn = (bmdb: Bmdb, intervalMs = 3_600_000): Promise<BmdbSession> =>
  bmdb.openSession({ component: 'shepherd', runtimeInfo: 'host test', intervalMs });

export async function addMachine(
  { server }: ClaimStand,
  change: Partial<MachineRow> = {},
): Promise<MachineId> {
  const row = machineRow(Date.now(), change);
  await insertMachine(server.sql, row);
  return row.machineId;
}
export const addMachines = (
  stand: ClaimStand,
  count: number,
  change: Partial<MachineRow> = {},
): Promise<MachineId[]> =>
  Promise.all(Array.from({ length: count }, () => addMachine(stand, change)));

/** Lines `event cause` of a machine, oldest first. */
export async function historyOf({ server }: ClaimStand, id: MachineId): Promise<string[]> {
  const { rows } = await server.sql.query<{ line: string }>(
    `SELECT concat_ws(' ', event, failed_cause) AS line FROM work_history
     WHERE machine_id = $1 ORDER BY seq`,
    [id],
  );
  return rows.map((row) => row.line);
}
export async function heldLeases({ server }: ClaimStand): Promise<number> {
  const { rows } = await server.sql.query(`SELECT 1 FROM work WHERE session_id IS NOT NULL`);
  return rows.length;
}

/** Resolves when so many backends wait for a lock. */
export const untilBlocked = ({ server }: ClaimStand, count: number): Promise<unknown> =>
  vi.waitUntil(
    async () => {
      const { rows } = await server.sql.query(
        `SELECT 1 FROM pg_stat_activity 
         WHERE wait_event_type = 'Lock' AND datname = current_database()`,
      );
      return rows.length === count;
    },
    { ...PATIENCE, interval: 10 },
  );

/** Has the server end the statements that wait for a lock, as if they had taken too long. */
export const endBlocked = ({ server }: ClaimStand): Promise<unknown> =>
  server.sql.query(
    `SELECT pg_cancel_backend(pid) FROM pg_stat_activity
     WHERE wait_event_type = 'Lock' AND datname = current_database()`,
  );

/** Runs the statement in a transaction of its own, which stays open meanwhile. */
export async function holding<T>(
  { server }: ClaimStand,
  sql: string,
  body: () => Promise<T>,
): Promise<T> {
  const client: pg.PoolClient = await server.sql.connect();
  try {
    await client.query(`BEGIN; ${sql}`);
    return await body();
  } finally {
    await client.query('COMMIT');
    client.release();
  }
}

/** A transaction of the running role, held open; ends with the test at the latest. */
export interface HeldOpen {
  query(sql: string, values?: readonly unknown[]): Promise<pg.QueryResult>;
  run(what: Statement, args: Readonly<Record<string, unknown>>): Promise<unknown>;
  commit(): Promise<void>;
  rollback(): Promise<void>;
}
export async function transactionOn({ server, clients }: ClaimStand): Promise<HeldOpen> {
  const client = new pg.Client({ connectionString: server.url });
  clients.add(client);
  await client.connect();
  await client.query('BEGIN ISOLATION LEVEL READ COMMITTED');
  return {
    query: (sql, values = []) => client.query(sql, [...values]),
    run: (what, args) => client.query(what.text, valuesOf(what, args as ArgsOf<Params>)),
    commit: async () => void (await client.query('COMMIT')),
    rollback: async () => void (await client.query('ROLLBACK')),
  };
}

export interface Sorted<T> {
  readonly done: T[];
  readonly codes: string[];
}
/** What succeeded, and the codes of the errors of what did not. */
export async function sorted<T>(calls: readonly Promise<T>[]): Promise<Sorted<T>> {
  const settled = await Promise.allSettled(calls);
  return {
    done: settled.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : [])),
    codes: settled.flatMap((each) => (each.status === 'rejected' ? [codeOf(each.reason)] : [])),
  };
}
export async function codeOfRefusal(call: Promise<unknown>): Promise<string> {
  const { done, codes } = await sorted([call]);
  expect(done).toEqual([]);
  return codes[0]!;
}
