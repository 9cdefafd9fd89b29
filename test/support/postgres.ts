import { chmod } from 'node:fs/promises';
import { dirname } from 'node:path';
import { startEmbeddedPostgres } from '../../src/adapters/bmdb/embedded/embedded-postgres.ts';
import type { EmbeddedPostgres } from '../../src/adapters/bmdb/embedded/embedded-postgres.ts';
import { silentLog } from '../../src/adapters/log/port.ts';

/**
 * The PostgreSQL for tests of the database. It is the embedded server, or the programs of another
 * installation (`SHEPHERD_TEST_POSTGRES_BIN`). That installation keeps its defaults except for
 * `fsync` and `SHEPHERD_TEST_POSTGRES_SETTINGS` (`name=value`, separated by blanks).
 */
export async function startTestPostgres(dataDir?: string): Promise<EmbeddedPostgres> {
  const installation = installationOf(process.env);
  // Programs before version 16 return by name to the directory in which they were started.
  if (installation && dataDir !== undefined) await chmod(dirname(dataDir), 0o711);
  return startEmbeddedPostgres({
    log: silentLog,
    ...(dataDir !== undefined && { dataDir }),
    ...(installation && { installation }),
  });
}

/** No test's data must survive a power cut, so nobody waits for the disk. */
const UNSAFE = ['fsync=off', 'full_page_writes=off'];

function installationOf(env: NodeJS.ProcessEnv) {
  const bin = env['SHEPHERD_TEST_POSTGRES_BIN'];
  if (!bin) return undefined;
  const settings = (env['SHEPHERD_TEST_POSTGRES_SETTINGS'] ?? '').split(' ').filter(Boolean);
  return { bin, settings: [...UNSAFE, ...settings] };
}
