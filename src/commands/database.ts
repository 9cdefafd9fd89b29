import { migrate, migrateDown, latestMigration } from '../adapters/bmdb/schema/migrate.ts';
import { readStatus, type DatabaseStatus } from '../adapters/bmdb/schema/status.ts';
import { silentLog } from '../adapters/log/port.ts';
import { loadConfig, lossPolicyOf, type Config } from '../config.ts';
import { UsageError } from '../domain/errors.ts';
import { runningDatabaseUrl } from '../adapters/bmdb/embedded/running-database.ts';
import { createPgBmdb } from '../adapters/bmdb/pg/pg-bmdb.ts';
import type { Bmdb, BmdbSession, Lease } from '../adapters/bmdb/port.ts';
import { systemClock, systemRandom } from '../adapters/clock/system-clock.ts';
import { factLines, type LabelledValue } from './layout.ts';
import type { CommandOutput } from './remote/output.ts';

/** Says which database is used. */
export interface DatabaseOptions {
  readonly file: string;
  /** Used instead of `database.url` of the file, for another database role. */
  readonly url?: string | undefined;
}

/**
 * The database URL of the configuration.
 * @throws {UsageError} the configuration is wrong, or uses the embedded database.
 */
export const databaseUrlOf = (options: DatabaseOptions): string => databaseOf(options).url;

function databaseOf({ file, url }: DatabaseOptions): { url: string; poolMax: number } {
  const flags = url === undefined ? {} : { 'database.url': url };
  const { database } = loadConfig({ file, env: process.env, flags });
  if (database.url) return { url: database.url.read(), poolMax: database.poolMax };
  throw new UsageError(
    `${file} uses the embedded database, which the daemon itself runs and migrates; ` +
      'use "shepherd db" only with a database.url',
  );
}

/**
 * `shepherd db migrate`: migrates the schema of a database given by URL, which daemons only check. Needs a
 * database role that may create tables.
 */
export async function migrateDatabase(
  options: DatabaseOptions & { readonly grantTo?: string | undefined },
): Promise<string> {
  const { grantTo } = options;
  await migrate(databaseUrlOf(options), silentLog, { grantTo });
  const granted = grantTo === undefined ? '' : `; ${grantTo} has the rights of a daemon`;
  return `the schema is at ${await latestMigration()}${granted}`;
}

/** `shepherd db down`: undoes every migration of a throw-away database. */
export async function throwAwayDatabase(
  options: DatabaseOptions & { readonly name: string; readonly throwAway: boolean },
): Promise<string> {
  if (!options.throwAway) {
    throw new UsageError('this deletes every machine and all history; confirm with --throw-away');
  }
  await migrateDown(databaseUrlOf(options), silentLog, options.name);
  return `the schema of the database ${options.name} is removed`;
}

/** `shepherd db status`: exit status 1 if something must be done before a daemon can work. */
export async function databaseStatus(options: DatabaseOptions): Promise<CommandOutput> {
  const { url, poolMax } = databaseOf(options);
  const status = await readStatus(url, poolMax);
  const isGood = status.problems.length === 0;
  return {
    document: { isGood, ...status },
    text: (width) => factLines(factsOf(status), width),
    exitCode: isGood ? 0 : 1,
  };
}

function factsOf(status: DatabaseStatus): LabelledValue[] {
  const { where, server, schema, rights, sessions, counts, problems, warnings } = status;
  const good = rights.missing.length + rights.excess.length === 0;
  const named = (all: readonly string[]) => (all.length === 0 ? null : all.join(', '));
  return [
    ['database', where],
    ['server', `PostgreSQL ${server.version}${server.readOnly ? ', read-only' : ''}`],
    ['schema', `${schema.version}${schema.kind === 'current' ? '' : ` (${schema.kind})`}`],
    ['pending', named(schema.pending)],
    ['unknown here', named(schema.unknown)],
    ['rights', good ? `${rights.role} has exactly the rights that a daemon needs` : 'see below'],
    ['sessions', `${sessions.length} live`],
    ...sessions.map(({ component, runtimeInfo, createdAtMs }): LabelledValue => [
      '',
      `${component}, ${runtimeInfo}, since ${new Date(createdAtMs).toISOString()}`,
    ]),
    ...Object.entries(counts).map(([kind, count]): LabelledValue => [kind, String(count)]),
    ...problems.map((each): LabelledValue => ['NEEDS ACTION', each]),
    ...warnings.map((each): LabelledValue => ['warning', each]),
  ];
}

/** Limit for one statement. A person prefers a late answer to none. */
export const TIMEOUT_MS = 30_000;

/**
 * Opens the database for a command, without a session, so that no daemon notices. An embedded database must
 * be running in its daemon.
 * @throws {UsageError} the configuration is wrong, or the embedded database does not run.
 */
export async function openCommandBmdb(
  options: DatabaseOptions,
): Promise<{ readonly bmdb: Bmdb; readonly config: Config }> {
  const flags = options.url === undefined ? {} : { 'database.url': options.url };
  const config = loadConfig({ file: options.file, env: process.env, flags });
  const { embedded } = config.database;
  const url = embedded ? await embeddedUrl(embedded.dataDir, options) : databaseUrlOf(options);
  const bmdb = createPgBmdb({
    url,
    clock: systemClock,
    random: systemRandom,
    log: silentLog,
    poolMax: 1,
    loss: lossPolicyOf(config),
    budget: config.guard,
    timeoutMs: TIMEOUT_MS,
    wakes: 'poll',
  });
  return { bmdb, config };
}

/** As {@link openCommandBmdb}, and closes it again. */
export async function withDatabase<T>(
  options: DatabaseOptions,
  task: (bmdb: Bmdb, config: Config) => Promise<T>,
): Promise<T> {
  const { bmdb, config } = await openCommandBmdb(options);
  try {
    return await task(bmdb, config);
  } finally {
    await bmdb.close();
  }
}

async function embeddedUrl(dataDir: string, { file }: DatabaseOptions): Promise<string> {
  const url = await runningDatabaseUrl(dataDir);
  if (url !== null) return url;
  throw new UsageError(
    `${file} uses the embedded database, which runs only in a daemon; start the daemon first`,
  );
}

/** The session ends this long after the command, even if the command is killed. */
const SESSION_MS = 60_000;

/** Works in a session of its own. @param runtimeInfo who does what, for people who look at sessions. */
export async function asOperator<T>(
  bmdb: Pick<Bmdb, 'openSession'>,
  runtimeInfo: string,
  work: (session: BmdbSession) => Promise<T>,
): Promise<T> {
  const about = { component: 'operator', runtimeInfo: runtimeInfo.slice(0, 200) };
  const session = await bmdb.openSession({ ...about, intervalMs: SESSION_MS });
  try {
    return await work(session);
  } finally {
    await session.close();
  }
}

/** Works under a lease that daemons use; null: a daemon holds the lease, and nothing was done. */
export async function underLease<T>(
  session: BmdbSession,
  job: string,
  work: (lease: Lease) => Promise<T>,
): Promise<T | null> {
  const lease = await session.lease(job);
  if (lease === null) return null;
  try {
    return await work(lease);
  } finally {
    await lease.release();
  }
}
