import pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, vi } from 'vitest';
import { valuesOf } from '../../../../src/adapters/bmdb/pg/statement.ts';
import type { ArgsOf, Params, Statement } from '../../../../src/adapters/bmdb/pg/statement.ts';
import type { Bmdb, BmdbSession } from '../../../../src/adapters/bmdb/port.ts';
import type {
  NewRequest,
  RequestedThing,
  RequestTarget,
} from '../../../../src/adapters/bmdb/port.ts';
import type { Metrics } from '../../../../src/adapters/metrics/port.ts';
import { codeOf } from '../../../../src/domain/errors.ts';
import type { MachineId, SessionId } from '../../../../src/domain/ids.ts';
import type { MachineRow } from '../../../../src/domain/machine.ts';
import { machineRow, MINUTE, startedAt } from '../../../contracts/bmdb-rows.ts';
import { agentStarted, SIGNAL } from '../../../contracts/bmdb-stage.ts';
import { requestFor, targetOf } from '../../../contracts/requests-of.ts';
import { startBreakingProxy } from './breaking-proxy.ts';
import type { BreakingProxy } from './breaking-proxy.ts';
import { insertMachine, openPgBmdb, PATIENT_MS, startPgServer } from './pg-harness.ts';
import type { PgServer } from './pg-harness.ts';
import { createMovedClock, type MovedClock } from '../../../support/moved-time.ts';
import { PATIENCE } from '../../../support/patience.ts';

export { refusedWith, SIGNAL, STEADY } from '../../../contracts/bmdb-stage.ts';
export const STARTED = agentStarted();

/** For tests in which another transaction locks a row and keeps the lock. */
export const SOON_MS = 20;
/** For example of a dead session. */
const LOST_MS = 40 * MINUTE;

interface ClaimStandOptions {
  /** Default: the shared server. */
  readonly start?: () => Promise<PgServer>;
  /** Applies to both daemons. */
  readonly metrics?: Metrics;
  /** Default attributes of added machines. */
  readonly usual?: () => Partial<MachineRow>;
}

/** Two daemons on one database, which is emptied before each test. */
class Stand {
  declare server: PgServer;
  /** In front of the first daemon only. */
  declare proxy: BreakingProxy;
  /** Applies to both daemons. The database's time is the real time. */
  readonly clock: MovedClock = createMovedClock();
  declare bmdb: Bmdb;
  declare other: Bmdb;
  /** Of the first daemon. */
  declare session: BmdbSession;
  /** Of the second daemon. */
  declare rival: BmdbSession;
  /** Ended after each test. */
  readonly clients = new Set<pg.Client>();

  /** Runs as the owner. @returns the rows. */
  async sql<T extends pg.QueryResultRow>(text: string, values: readonly unknown[] = []) {
    return (await this.server.sql.query<T>(text, [...values])).rows;
  }

  /** Number of rows in the table. */
  count = async (table: string): Promise<number> =>
    (await this.sql(`SELECT 1 FROM ${table}`)).length;

  usual = (): Partial<MachineRow> => ({});

  async add(change = this.usual()): Promise<MachineId> {
    const row = machineRow(Date.now(), change);
    await insertMachine(this.server.sql, row);
    return row.machineId;
  }

  addMany(count: number, change?: Partial<MachineRow>): Promise<MachineId[]> {
    return Promise.all(Array.from({ length: count }, () => this.add(change)));
  }

  /** Started 40 min ago and silent since. */
  addLost = (change: Partial<MachineRow> = {}): Promise<MachineId> =>
    this.add({ ...startedAt(Date.now() - LOST_MS), ...change });

  row = async (id: MachineId): Promise<MachineRow> =>
    (await this.other.readMachine(id, SIGNAL)).row!;

  target = async (id: MachineId): Promise<RequestTarget> => targetOf(await this.row(id));

  /** A reboot request for a machine. */
  reboot = async (id: MachineId, change: Partial<NewRequest> = {}): Promise<NewRequest> =>
    requestFor({ verb: 'reboot', target: await this.target(id), force: false }, change);

  /** @returns the request's key. */
  submit = async (what: RequestedThing, change: Partial<NewRequest> = {}): Promise<string> =>
    (await this.bmdb.requests.submit(requestFor(what, change))).key;

  /** The machine's history lines `event cause`, oldest first. */
  async history(id: MachineId): Promise<string[]> {
    const lines = await this.other.inspection.history(id, SIGNAL);
    return lines.map(({ event, cause }) => (cause === null ? event : `${event} ${cause}`));
  }

  /** Kinds of the machine's log entries, oldest first. */
  async events(machineId: MachineId): Promise<string[]> {
    const lines = await this.other.inspection.events({ machineId, limit: 99 }, SIGNAL);
    return lines.map(({ kind }) => kind);
  }

  /** Works that are in progress. */
  held = (): Promise<number> => this.count('work WHERE session_id IS NOT NULL');

  /** Expired by the database's clock only. The daemon does not know. */
  expire = ({ sessionId }: { readonly sessionId: SessionId }, ago = '0 s') =>
    this.sql(
      `UPDATE sessions SET session_interval_seconds = 1,
         session_deadline = clock_timestamp() - $2::interval WHERE session_id = $1`,
      [sessionId, ago],
    );

  /** Resolves when at least this many backends wait for a lock. */
  untilBlocked = (count = 1): Promise<unknown> =>
    vi.waitUntil(async () => (await this.count(`pg_stat_activity ${BLOCKED}`)) >= count, {
      ...PATIENCE,
      interval: 10,
    });

  /** Makes the server end the statements that wait for a lock, as if they had timed out. */
  endBlocked = () => this.sql(`SELECT pg_cancel_backend(pid) FROM pg_stat_activity ${BLOCKED}`);

  /** Runs the statements in a separate transaction, which stays open meanwhile. */
  async holding<T>(sql: string, body: () => Promise<T>): Promise<T> {
    const client = await this.server.sql.connect();
    try {
      await client.query(`BEGIN; ${sql}`);
      return await body();
    } finally {
      await client.query('COMMIT');
      client.release();
    }
  }

  /**
   * The result of a call that waits until those statements are committed and `meanwhile` has run.
   */
  async behind<T>(
    sql: string,
    call: () => Promise<T>,
    meanwhile: () => unknown = () => undefined,
  ): Promise<T> {
    const { called } = await this.holding(sql, async () => {
      const called = call();
      // The caller that awaits the result learns of an earlier failure.
      called.catch(() => undefined);
      await this.untilBlocked();
      await meanwhile();
      return { called };
    });
    return called;
  }

  /** An open transaction of the running role. */
  async begin(): Promise<HeldOpen> {
    const client = new pg.Client({ connectionString: this.server.url });
    this.clients.add(client);
    await client.connect();
    await client.query('BEGIN ISOLATION LEVEL READ COMMITTED');
    return {
      query: (sql, values = []) => client.query(sql, [...values]),
      run: (what, args) => client.query(what.text, valuesOf(what, args as ArgsOf<Params>)),
      commit: async () => void (await client.query('COMMIT')),
      rollback: async () => void (await client.query('ROLLBACK')),
    };
  }
}

const BLOCKED = `WHERE wait_event_type = 'Lock' AND datname = current_database()`;
export type ClaimStand = Stand;

/**
 * Registers the setup. Tests may use the fields.
 * @param lockTimeoutMs how long the BMDBs wait for a lock.
 */
export function claimStand(
  lockTimeoutMs = PATIENT_MS / 8,
  { start = startPgServer, metrics, usual = () => ({}) }: ClaimStandOptions = {},
): Stand {
  const stand = Object.assign(new Stand(), { usual });
  beforeAll(async () => {
    stand.server = await start();
    stand.proxy = await startBreakingProxy(stand.server.url);
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

/**
 * Locks the session's row: a statement that checks the session has taken its snapshot, and waits.
 */
export const lockingSession = ({ sessionId }: Pick<BmdbSession, 'sessionId'>): string =>
  `SELECT 1 FROM sessions WHERE session_id = '${sessionId}' FOR UPDATE`;

/** Locks the table's row for that machine. */
export const locking = (table: string, id: MachineId): string =>
  `SELECT 1 FROM ${table} WHERE machine_id = '${id}' FOR UPDATE`;

/** A transaction that ends with the test at the latest. */
export interface HeldOpen {
  query(sql: string, values?: readonly unknown[]): Promise<pg.QueryResult>;
  run(what: Statement, args: Readonly<Record<string, unknown>>): Promise<unknown>;
  commit(): Promise<void>;
  rollback(): Promise<void>;
}

export interface Sorted<T> {
  readonly done: T[];
  readonly codes: string[];
}

/** The successful results, and the error codes of the others. */
export async function sorted<T>(calls: readonly Promise<T>[]): Promise<Sorted<T>> {
  const settled = await Promise.allSettled(calls);
  return {
    done: settled.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : [])),
    codes: settled.flatMap((each) => (each.status === 'rejected' ? [codeOf(each.reason)] : [])),
  };
}
