import { chmod } from 'node:fs/promises';
import { dirname } from 'node:path';
import { startEmbeddedPostgres } from '../../src/adapters/bmdb/embedded/embedded-postgres.ts';
import type { EmbeddedPostgres } from '../../src/adapters/bmdb/embedded/embedded-postgres.ts';
import { silentLog } from '../../src/adapters/log/port.ts';

/**
 * The PostgreSQL that tests of the database run on: the embedded one, or, where the environment names
 * the programs of another installation (`SHEPHERD_TEST_POSTGRES_BIN`), that one as it comes but for
 * `fsync` and `SHEPHERD_TEST_POSTGRES_SETTINGS` (`name=value`, separated by blanks).
 */
export async function startTestPostgres(dataDir?: string): Promise<EmbeddedPostgres> {
  const installation = installationOf(process.env);
  // Programs of before version 16 go back by name to the directory that they were started in.
  if (installation && dataDir !== undefined) await chmod(dirname(dataDir), 0o711);
  return startEmbeddedPostgres({
    log: silentLog,
    ...(dataDir !== undefined && { dataDir }),
    ...(installation && { installation }),
  });
}

/** Nothing of a test must survive a power cut, so nobody waits for the disk. */
const UNSAFE = ['fsync=off', 'full_page_writes=off'];

function installationOf(env: NodeJS.ProcessEnv) {
  const bin = env['SHEPHERD_TEST_POSTGRES_BIN'];
  if (!bin) return undefined;
  const settings = (env['SHEPHERD_TEST_POSTGRES_SETTINGS'] ?? '').split(' ').filter(Boolean);
  return { bin, settings: [...UNSAFE, ...settings] };
}
