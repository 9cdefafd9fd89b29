import { startEmbeddedPostgres } from '../../src/adapters/bmdb/embedded/embedded-postgres.ts';
import type { EmbeddedPostgres } from '../../src/adapters/bmdb/embedded/embedded-postgres.ts';
import { silentLog } from '../../src/adapters/log/port.ts';

/**
 * The PostgreSQL that tests of the database run on: the embedded one, or, where the environment names
 * the programs of another installation (`SHEPHERD_TEST_POSTGRES_BIN`), that one as it comes but for
 * `SHEPHERD_TEST_POSTGRES_SETTINGS` (`name=value`, separated by blanks).
 */
export function startTestPostgres(dataDir?: string): Promise<EmbeddedPostgres> {
  const installation = installationOf(process.env);
  return startEmbeddedPostgres({
    log: silentLog,
    ...(dataDir !== undefined && { dataDir }),
    ...(installation && { installation }),
  });
}

/** Whether tests run on another PostgreSQL than the embedded one. */
export const isOtherPostgres = (): boolean => installationOf(process.env) !== undefined;

function installationOf(env: NodeJS.ProcessEnv) {
  const bin = env['SHEPHERD_TEST_POSTGRES_BIN'];
  if (!bin) return undefined;
  const settings = (env['SHEPHERD_TEST_POSTGRES_SETTINGS'] ?? '').split(' ').filter(Boolean);
  return { bin, settings };
}
