import { createPgBmdb } from '../adapters/bmdb/pg/pg-bmdb.ts';
import type { Bmdb } from '../adapters/bmdb/port.ts';
import { systemClock, systemRandom } from '../adapters/clock/system-clock.ts';
import { silentLog } from '../adapters/log/port.ts';
import { loadConfig, lossPolicyOf, type Config } from '../config.ts';
import { databaseUrlOf, type DatabaseOptions } from './db.ts';

/** For one statement; a person would rather wait than have no answer. */
export const TIMEOUT_MS = 30_000;

/**
 * Opens the database for a command, and closes it again. Without a session: no daemon notices.
 * @throws {UsageError} the configuration is wrong, or names the embedded database.
 */
export async function withDatabase<T>(
  options: DatabaseOptions,
  task: (bmdb: Bmdb, config: Config) => Promise<T>,
): Promise<T> {
  const url = databaseUrlOf(options);
  const flags = options.url === undefined ? {} : { 'database.url': options.url };
  const config = loadConfig({ file: options.file, env: process.env, flags });
  const bmdb = createPgBmdb({
    ...{ url, clock: systemClock, random: systemRandom, log: silentLog, poolMax: 1 },
    ...{ loss: lossPolicyOf(config), budget: config.guard, timeoutMs: TIMEOUT_MS },
    wakes: 'poll',
  });
  try {
    return await task(bmdb, config);
  } finally {
    await bmdb.close();
  }
}
