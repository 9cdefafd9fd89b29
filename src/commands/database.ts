import { migrate, migrateDown, latestMigration } from '../adapters/bmdb/schema/migrate.ts';
import { readStatus, type DatabaseStatus } from '../adapters/bmdb/schema/status.ts';
import { silentLog } from '../adapters/log/port.ts';
import { loadConfig, lossPolicyOf, type Config } from '../config.ts';
import { UsageError } from '../domain/errors.ts';
import { runningDatabaseUrl } from '../adapters/bmdb/embedded/running-database.ts';
import { createPgBmdb } from '../adapters/bmdb/pg/pg-bmdb.ts';
import type { Bmdb } from '../adapters/bmdb/port.ts';
import { systemClock, systemRandom } from '../adapters/clock/system-clock.ts';

/** Which database. */
export interface DatabaseOptions {
  readonly file: string;
  /** Instead of `database.url` of the file, in the same form: for another role. */
  readonly url?: string | undefined;
}

/**
 * The URL that the configuration names.
 * @throws {UsageError} the configuration is wrong, or names the embedded database.
 */
export const databaseUrlOf = (options: DatabaseOptions): string => databaseOf(options).url;

function databaseOf({ file, url }: DatabaseOptions): { url: string; poolMax: number } {
  const flags = url === undefined ? {} : { 'database.url': url };
  const { database } = loadConfig({ file, env: process.env, flags });
  if (database.url) return { url: database.url.read(), poolMax: database.poolMax };
  throw new UsageError(
    `${file} configures the embedded database, which runs only while a daemon does and is migrated ` +
      'by it; "shepherd db" is for a database given by database.url',
  );
}

/**
 * `shepherd db migrate`: the only way a database given by URL is changed; a daemon only checks it.
 * Needs a role that may create tables.
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
    throw new UsageError('this deletes every machine and all history; say so with --throw-away');
  }
  await migrateDown(databaseUrlOf(options), silentLog, options.name);
  return `the database ${options.name} has no schema any more`;
}

/** `shepherd db status`. `isGood` is false when something must be done before a daemon can work. */
export async function databaseStatus(
  options: DatabaseOptions & { readonly json: boolean },
): Promise<{ readonly text: string; readonly isGood: boolean }> {
  const { url, poolMax } = databaseOf(options);
  const status = await readStatus(url, poolMax);
  const isGood = status.problems.length === 0;
  return { text: options.json ? JSON.stringify({ isGood, ...status }) : inWords(status), isGood };
}

function inWords(status: DatabaseStatus): string {
  const { where, server, schema, rights, sessions, counts, problems, warnings } = status;
  const good = rights.missing.length + rights.excess.length === 0;
  const lines: [string, string][] = [
    ['database', where],
    ['server', `PostgreSQL ${server.version}${server.readOnly ? ', read-only' : ''}`],
    ['schema', `${schema.version}${schema.kind === 'current' ? '' : ` (${schema.kind})`}`],
    ...some('pending', schema.pending),
    ...some('unknown here', schema.unknown),
    ['rights', good ? `${rights.role} has what a daemon needs, and nothing more` : 'see below'],
    ['sessions', `${sessions.length} live`],
    ...sessions.map(({ component, runtimeInfo, createdAtMs }): [string, string] => {
      const since = new Date(createdAtMs).toISOString();
      return ['', `${component}, ${runtimeInfo}, since ${since}`];
    }),
    ...Object.entries(counts).map(([kind, count]): [string, string] => [kind, String(count)]),
    ...problems.map((each): [string, string] => ['NEEDS ACTION', each]),
    ...warnings.map((each): [string, string] => ['warning', each]),
  ];
  const width = Math.max(...lines.map(([name]) => name.length)) + 2;
  return lines.map(([name, value]) => `${name.padEnd(width)}${value}`).join('\n');
}

const some = (name: string, values: readonly string[]): [string, string][] =>
  values.length === 0 ? [] : [[name, values.join(', ')]];

/** For one statement; a person would rather wait than have no answer. */
export const TIMEOUT_MS = 30_000;

/**
 * Opens the database for a command. Without a session: no daemon notices. The embedded one is that of
 * the daemon that runs on it.
 * @throws {UsageError} the configuration is wrong, or names an embedded database that does not run.
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
    `${file} configures the embedded database, which runs only while a daemon does; none does now`,
  );
}
