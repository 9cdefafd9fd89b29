import { contractOnPg } from './contract-on-pg.ts';
import { startOwnPgServer, startTimedPgServer } from './pg-harness.ts';

// A transaction that is open in any database of a server keeps back what is told, and has changes read
// again; so may one of its own housekeeping.
contractOnPg('events', async () => {
  const server = await startTimedPgServer(startOwnPgServer);
  await server.sql.query('ALTER SYSTEM SET autovacuum = off');
  await server.sql.query('SELECT pg_reload_conf()');
  return server;
});
