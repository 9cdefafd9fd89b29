import { contractOnPg } from './contract-on-pg.ts';
import { startOwnPgServer, startTimedPgServer } from './pg-harness.ts';

// An open transaction in any database of a server delays notifications and makes readers repeat
// changes. A housekeeping transaction of the server has the same effect.
contractOnPg('events', async () => {
  const server = await startTimedPgServer(startOwnPgServer);
  await server.sql.query('ALTER SYSTEM SET autovacuum = off');
  await server.sql.query('SELECT pg_reload_conf()');
  return server;
});
