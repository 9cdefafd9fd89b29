import { contractOnPg } from './contract-on-pg.ts';
import { startOwnPgServer } from './pg-harness.ts';

// A transaction that is open in any database of a server has changes read again.
contractOnPg('changes', startOwnPgServer);
