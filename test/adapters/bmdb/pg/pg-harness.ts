import pg from 'pg';
import { afterAll, beforeAll } from 'vitest';
import { migrate } from '../../../../src/adapters/bmdb/schema/migrate.ts';
import { createPgBmdb, type PgBmdbOptions } from '../../../../src/adapters/bmdb/pg/pg-bmdb.ts';
import { createDatabase } from '../../../../src/adapters/bmdb/pg/pool.ts';
import type { Database, DatabaseDeps } from '../../../../src/adapters/bmdb/pg/pool.ts';
import type { Bmdb } from '../../../../src/adapters/bmdb/port.ts';
import { systemRandom } from '../../../../src/adapters/clock/system-clock.ts';
import { silentLog } from '../../../../src/adapters/log/port.ts';
import type { HoldRow, MachineRow } from '../../../../src/domain/machine.ts';
import { DEFAULT_BUDGET, DEFAULT_LOSS } from '../../../../src/domain/policy.ts';
import { createMovedClock, takeTimeOver, type MovedTime } from '../../../support/moved-time.ts';
import { PATIENCE } from '../../../support/patience.ts';
import { startTestPostgres } from '../../../support/postgres.ts';
import { openTestDatabase, type TestDatabase } from '../../../support/test-database.ts';
import { notTakenInSql, takenInSql, TRUSTING_GUARD } from '../../../support/ingest.ts';
import { ACCEPTANCE } from '../../../contracts/bmdb-rows.ts';
import { logsOf } from '../../../contracts/bmdb-stage.ts';
import type { BmdbHarness } from '../../../contracts/bmdb-stage.ts';
import { pgHooks } from './pg-hooks.ts';
import { TRAIT_NAMES, TRAITS } from '../../../../src/domain/traits.ts';

/** A database for one test file. */
export interface PgServer {
  /** URL of the running role, which the BMDB under test uses. */
  readonly url: string;
  /** URL of the role that owns the schema. */
  readonly ownerUrl: string;
  /** The owner's connection, for reading rows and setting them up. */
  readonly sql: pg.Pool;
  /** Empties every table. */
  clear(): Promise<void>;
  stop(): Promise<void>;
}

/** On the server that all tests of a run share. */
export async function startPgServer(): Promise<PgServer> {
  return openServer(await openTestDatabase());
}

/**
 * A server for all tests of a file, from their first hook on. Tests that need empty tables clear
 * them.
 */
export function usePgServer(start = startPgServer): PgServer {
  const server = {} as PgServer;
  beforeAll(async () => void Object.assign(server, await start()));
  afterAll(() => server.stop());
  return server;
}

/** On a separate server. `openTestDatabase` states when. */
export async function startOwnPgServer(): Promise<PgServer> {
  const server = await startTestPostgres();
  await migrate(server.ownerUrl, silentLog, { grantTo: server.role });
  return openServer(server);
}

/** Its time moves only by the test. */
export interface TimedPgServer extends PgServer {
  readonly time: MovedTime;
}

export async function startTimedPgServer(start = startPgServer): Promise<TimedPgServer> {
  const server = await start();
  return { ...server, time: await takeTimeOver(server.ownerUrl) };
}

type OpenedDatabase = Pick<TestDatabase, 'url' | 'ownerUrl' | 'stop'>;

function openServer({ url, ownerUrl, stop }: OpenedDatabase): PgServer {
  const sql = new pg.Pool({ connectionString: ownerUrl, max: 4 });
  // A client released by the ending pool may still learn that the server stops.
  sql.on('connect', (client) => client.on('error', () => undefined));
  sql.on('error', () => undefined);
  // The first time truncates all tables: the planner must treat their size as unknown, not as the
  // empty size that was analysed after the migrations.
  let from = 0;
  return {
    url,
    ownerUrl,
    sql,
    clear: async () => {
      await sql.query(emptyFrom(from));
      from = BLOATED_BYTES;
      await takenInSql(sql);
    },
    stop: async () => {
      await sql.end();
      await stop();
    },
  };
}

/**
 * Deletes the rows, which is ten times as fast as TRUNCATE with its new file for each table and
 * index. Truncates a table of this many bytes, since dead rows keep costing time. As with TRUNCATE,
 * the call waits for every open writer, no trigger runs, and sequences do not restart.
 */
const emptyFrom = (bytes: number) => `DO $$ DECLARE name text; size bigint; BEGIN
  EXECUTE (SELECT format('LOCK TABLE %s IN ACCESS EXCLUSIVE MODE',
      string_agg(quote_ident(tablename), ', ' ORDER BY tablename))
    FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'schema_migrations');
  SET LOCAL session_replication_role = replica;
  FOR name, size IN
    SELECT tablename, pg_relation_size(quote_ident(tablename)::regclass) FROM pg_tables
    WHERE schemaname = 'public' AND tablename <> 'schema_migrations'
  LOOP
    IF size >= ${bytes} THEN EXECUTE format('TRUNCATE %I CASCADE', name);
    ELSIF size > 0 THEN EXECUTE format('DELETE FROM %I', name);
    END IF;
  END LOOP;
END $$`;
const BLOATED_BYTES = 200 * 1024;

/** So long that nothing is refused on a slow machine. */
export const PATIENT_MS = PATIENCE.timeout;

/** A daemon's BMDB, whose clock moves only by its pauses. */
export const openPgBmdb = (options: Pick<PgBmdbOptions, 'url'> & Partial<PgBmdbOptions>): Bmdb =>
  createPgBmdb({
    clock: createMovedClock(),
    random: systemRandom,
    log: silentLog,
    loss: DEFAULT_LOSS,
    budget: DEFAULT_BUDGET,
    acceptance: ACCEPTANCE,
    jitter: 0,
    timeoutMs: PATIENT_MS,
    pulseTimeoutMs: PATIENT_MS,
    ...options,
  });

/** The same for transactions alone, with one connection. */
export const openPgDatabase = (
  options: Pick<DatabaseDeps, 'url'> & Partial<DatabaseDeps>,
): Database =>
  createDatabase({
    clock: createMovedClock(),
    random: systemRandom,
    log: silentLog,
    poolMax: 1,
    timeoutMs: PATIENT_MS,
    ...options,
  });

/** Two daemons' BMDBs on one database. */
export interface TwoBmdbs {
  readonly bmdb: Bmdb;
  readonly other: Bmdb;
  close(): Promise<void>;
}

const HOUR_MS = 3_600_000;

/**
 * With these policies. One clock is an hour early, the other an hour late: the BMDB must not use
 * either.
 */
export function openTwoBmdbs(
  { url, time: { clock } }: TimedPgServer,
  loss = DEFAULT_LOSS,
  budget = DEFAULT_BUDGET,
  guard = TRUSTING_GUARD,
): TwoBmdbs {
  const open = (wrongMs: number): Bmdb =>
    openPgBmdb({
      ...{ url, poolMax: 6, loss, budget, guard },
      clock: { ...clock, now: () => clock.now() + wrongMs },
    });
  const [bmdb, other] = [open(-HOUR_MS), open(HOUR_MS)];
  const close = async () => void (await Promise.all([bmdb.close(), other.close()]));
  return { bmdb, other, close };
}

/** The emptied database on the server, as seen by two daemons. */
export async function pgHarness(
  server: TimedPgServer,
  two: TwoBmdbs = openTwoBmdbs(server),
): Promise<BmdbHarness> {
  await server.clear();
  const { bmdb, other } = two;
  const { sql } = server;
  return {
    bmdb,
    other,
    ...pgHooks(sql, server.url),
    insert: (row, request) => insertMachine(sql, row, request),
    hold: (hold) => insertHold(sql, hold),
    freeze: async (scope, reason) => {
      await sql.query(
        `INSERT INTO fleet_guard (scope, frozen_at, frozen_by, frozen_kind, reason)
         VALUES ($1, now(), 'test', 'manual', $2)
         ON CONFLICT (scope) DO UPDATE SET frozen_at = excluded.frozen_at,
           frozen_by = excluded.frozen_by, frozen_kind = excluded.frozen_kind,
           reason = excluded.reason`,
        [scope, reason],
      );
    },
    takeIn: (yes) => (yes ? takenInSql(sql) : notTakenInSql(sql)),
    addRecords: async (provider, count) => {
      await sql.query(
        `INSERT INTO provider_records (provider, key, value, version)
         SELECT $1, 'r' || n, to_json(n), n FROM generate_series(1, $2::int) n`,
        [provider, count],
      );
    },
    nowMs: server.time.nowMs,
    pass: (ms) => server.time.move(sql, ms),
    expireSession: async (id) => {
      await sql.query(
        `UPDATE sessions SET session_deadline = now() - interval '1 ms' WHERE session_id = $1`,
        [id],
      );
    },
    ...logsOf(bmdb),
    close: () => two.close(),
  };
}

export async function insertHold(sql: Pick<pg.Pool, 'query'>, hold: HoldRow): Promise<void> {
  const { provider, slotId, kind, setBy, reason, fromMs = null, untilMs } = hold;
  await sql.query(
    `INSERT INTO slot_holds (provider, slot_id, kind, set_by, reason, until, from_at)
     VALUES ($1, $2, $3, $4, $5, to_timestamp($6::float8 / 1000),
       to_timestamp($7::float8 / 1000))`,
    [provider, slotId, kind, setBy, reason, untilMs, fromMs],
  );
}

/** Inserts a machine with exactly these tags (and without work, which needs a session). */
export async function insertMachine(
  sql: Pick<pg.Pool, 'query'>,
  row: MachineRow,
  request: Uint8Array = new Uint8Array([1]),
): Promise<void> {
  const { machineId } = row;
  const statements = tagsOf(row, Buffer.from(request)).flatMap(([table, fields]) => {
    if (!fields) return [];
    const columns = Object.entries({ machineId, ...fields }).map(
      ([name, value]) => [columnOf(name), value] as const,
    );
    const values = columns.map(([name, value]) => literal(name, value));
    return [
      `INSERT INTO ${table} (${columns.map(([name]) => name).join()}) VALUES (${values.join()})`,
    ];
  });
  // In one round trip, which is one transaction.
  await sql.query(statements.join(';'));
}

/** `askedAtMs` is in the column `asked_at`. */
const columnOf = (name: string) =>
  name.replace(/Ms$/, '').replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

const isTime = (name: string) => /(_at|_since|until|^since|deadline)$/.test(name);
function literal(name: string, value: unknown): string {
  if (value === null || value === undefined) return 'NULL';
  if (typeof value === 'number' && isTime(name)) return `to_timestamp(${value} / 1e3::float8)`;
  if (Buffer.isBuffer(value)) return `'\\x${value.toString('hex')}'`;
  if (Array.isArray(value)) return `'{${value.join()}}'`;
  return pg.escapeLiteral(typeof value === 'object' ? JSON.stringify(value) : String(value));
}

/** The values for each table. A table without fields gets no row. */
function tagsOf(
  row: MachineRow,
  request: Buffer,
): readonly (readonly [table: string, fields: object | null | false])[] {
  const { provided, agentStarted, heartbeat, startAttempt, bootTimes, order } = row;
  const { requestGeneration, handedOutAtMs, reportGeneration, reportResult } = row.installation;
  return [
    ['machines', { machineCreatedAtMs: row.createdAtMs }],
    [
      'machine_provided',
      provided && {
        provider: provided.provider,
        providerId: provided.providerId,
        providerReservationId: provided.reservationId,
        providerIpAddress: provided.address,
        providerStatus: provided.status,
        ...Object.fromEntries(TRAIT_NAMES.map((name) => [TRAITS[name].column, provided[name]])),
        providerMissingSinceMs: row.missing?.sinceMs ?? null,
        providerMissingSeen: row.missing?.seen ?? 0,
      },
    ],
    ['machine_ssh_host_key', row.hostKey !== null && { key: row.hostKey }],
    ['machine_quarantined', row.quarantine && { ...row.quarantine, setBy: 'test' }],
    ['machine_deprovision_request', row.deprovision],
    [
      'machine_agent_started',
      agentStarted && {
        agentStartedAtMs: agentStarted.atMs,
        agentPublicKey: Buffer.from(agentStarted.publicKey, 'hex'),
        bootId: agentStarted.bootId,
      },
    ],
    [
      'machine_agent_heartbeat',
      heartbeat && { agentHeartbeatAtMs: heartbeat.atMs, bootId: heartbeat.bootId },
    ],
    [
      'machine_agent_start_attempt',
      startAttempt && { attemptedAtMs: startAttempt.atMs, count: startAttempt.count },
    ],
    [
      'machine_os_installation_request',
      requestGeneration !== null && {
        ...{ generation: requestGeneration, osInstallationRequestRaw: request, handedOutAtMs },
      },
    ],
    [
      'machine_os_installation_report',
      reportGeneration !== null && {
        ...{ generation: reportGeneration, osInstallationResult: reportResult },
        osInstallationReportRaw: Buffer.from([1]),
      },
    ],
    ['machine_recovery', row.recovery],
    [
      'machine_boot_times',
      bootTimes.reboot.length + bootTimes.reinstall.length > 0 && {
        ...{ rebootSeconds: bootTimes.reboot, reinstallSeconds: bootTimes.reinstall },
      },
    ],
    [
      'operator_intents',
      order &&
        provided && {
          ...{ idempotencyKey: order.key, verb: order.verb, actor: order.by, reason: order.reason },
          ...{ parameters: { force: order.force }, expiresAtMs: order.expiresAtMs },
          provider: provided.provider,
          slotId: provided.reservationId ?? provided.providerId,
        },
    ],
    [
      'recovery_permits',
      row.permit && { provider: provided!.provider, location: provided!.location },
    ],
    ...row.members.map(
      (member) => ['pool_members', { ...member, machineId: row.machineId }] as const,
    ),
    ...row.backoffs.map((backoff) => ['work_backoff', backoff] as const),
  ];
}
