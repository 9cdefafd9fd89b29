import { once } from 'node:events';
import pg from 'pg';
import { migrate } from '../../src/adapters/bmdb/schema/migrate.ts';
import { silentLog } from '../../src/adapters/log/port.ts';
import { startTestPostgres } from './postgres.ts';

/**
 * Keeps a PostgreSQL for all tests of a run, until its input ends: says in one line of JSON
 * (`SharedPostgres`) where it is. Interrupted from the terminal, it goes on for the tests that are
 * being ended; should it be killed, the server's watchdog stops the server and removes what it kept.
 */
process.on('SIGINT', () => undefined);

/** Migrated, to be copied; nobody may connect to it, since it could not be copied then. */
const TEMPLATE = 'migrated';

const server = await startTestPostgres();
try {
  const owner = new pg.Client({ connectionString: server.ownerUrl });
  await owner.connect();
  await owner.query(`CREATE DATABASE ${TEMPLATE}`);
  const url = Object.assign(new URL(server.ownerUrl), { pathname: `/${TEMPLATE}` }).href;
  await migrate(url, silentLog, { grantTo: server.role });
  await owner.query(`ALTER DATABASE ${TEMPLATE} ALLOW_CONNECTIONS false`);
  await owner.end();
  const { ownerUrl, role } = server;
  process.stdout.write(
    `${JSON.stringify({ url: server.url, ownerUrl, role, template: TEMPLATE })}\n`,
  );
  process.stdin.resume();
  await once(process.stdin, 'end');
} finally {
  await server.stop();
}
