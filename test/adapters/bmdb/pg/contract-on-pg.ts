import { afterAll, beforeAll } from 'vitest';
import { bmdbContract } from '../../../contracts/bmdb.ts';
import type { Area } from '../../../contracts/bmdb.ts';
import { openTwoBmdbs, pgHarness, startTimedPgServer } from './pg-harness.ts';
import type { TimedPgServer, TwoBmdbs } from './pg-harness.ts';

/**
 * One area of the BMDB's contract, on PostgreSQL, in time that stands still but for what a test moves.
 * Tests of the same policies share their connections: planning the statements anew on new ones takes
 * longer than most tests do.
 */
export function contractOnPg(
  area: Area,
  start: () => Promise<TimedPgServer> = startTimedPgServer,
): void {
  let server: TimedPgServer;
  const kept = new Map<string, TwoBmdbs>();
  beforeAll(async () => {
    server = await start();
  });
  afterAll(async () => {
    await Promise.all([...kept.values()].map((two) => two.close()));
    await server.stop();
  });

  bmdbContract(
    'on PostgreSQL',
    async (...policies) => {
      const key = JSON.stringify(policies);
      const two = kept.get(key) ?? openTwoBmdbs(server, ...policies);
      kept.set(key, two);
      return pgHarness(server, { ...two, close: () => Promise.resolve() });
    },
    area,
  );
}
