import { latestMigration, migrate } from '../adapters/bmdb/schema/migrate.ts';
import { silentLog } from '../adapters/log/port.ts';
import { loadConfig } from '../config.ts';
import { UsageError } from '../domain/errors.ts';

/**
 * `shepherd db migrate`: the only way a database given by URL is changed; a daemon only checks it.
 * Needs a user that may create tables. @throws {UsageError} the embedded database is configured.
 */
export async function migrateDatabase(file: string): Promise<string> {
  const { database } = loadConfig({ file, env: process.env });
  if (!database.url) {
    throw new UsageError(
      `${file} configures the embedded database, which the daemon migrates by itself; ` +
        'only a database given by database.url needs this command',
    );
  }
  await migrate(database.url.read(), silentLog);
  return `the schema is at ${await latestMigration()}`;
}
