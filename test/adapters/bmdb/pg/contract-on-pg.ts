import { afterAll, beforeAll } from 'vitest';
import { bmdbContract } from '../../../contracts/bmdb.ts';
import type { Area } from '../../../contracts/bmdb.ts';
import { pgHarness, startPgServer } from './pg-harness.ts';
import type { PgServer } from './pg-harness.ts';

/** One area of the BMDB's contract, on PostgreSQL. */
export function contractOnPg(area: Area, start = startPgServer): void {
  let server: PgServer;
  beforeAll(async () => {
    server = await start();
  });
  afterAll(() => server.stop());

  bmdbContract('on PostgreSQL', (...policies) => pgHarness(server, ...policies), area);
}
