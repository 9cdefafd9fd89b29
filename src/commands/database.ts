import { runningDatabaseUrl } from '../adapters/bmdb/embedded/running-database.ts';
import { createPgBmdb } from '../adapters/bmdb/pg/pg-bmdb.ts';
import type { Bmdb } from '../adapters/bmdb/port.ts';
import { systemClock, systemRandom } from '../adapters/clock/system-clock.ts';
import { silentLog } from '../adapters/log/port.ts';
import { loadConfig, lossPolicyOf, type Config } from '../config.ts';
import { UsageError } from '../domain/errors.ts';
import { databaseUrlOf, type DatabaseOptions } from './db.ts';

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
