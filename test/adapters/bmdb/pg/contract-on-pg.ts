import { afterAll, beforeAll } from 'vitest';
import { bmdbContract } from '../../../contracts/bmdb.ts';
import type { Area, MakeHarness } from '../../../contracts/bmdb.ts';
import { openTwoBmdbs, pgHarness, startTimedPgServer } from './pg-harness.ts';
import type { TimedPgServer, TwoBmdbs } from './pg-harness.ts';

/** Makes harnesses on a test file's database. */
export interface PgStand {
  readonly server: TimedPgServer;
  readonly make: MakeHarness;
}

/**
 * Registers a database for all tests of a file, in time that moves only by the tests. Tests with
 * the same policies share their connections: planning the statements again on new connections takes
 * longer than most tests.
 */
export function pgStand(start: () => Promise<TimedPgServer> = startTimedPgServer): PgStand {
  let server: TimedPgServer;
  const kept = new Map<string, TwoBmdbs>();
  beforeAll(async () => {
    server = await start();
  });
  afterAll(async () => {
    await Promise.all([...kept.values()].map((two) => two.close()));
    await server.stop();
  });
  return {
    get server() {
      return server;
    },
    make: async (...policies) => {
      const key = JSON.stringify(policies);
      const two = kept.get(key) ?? openTwoBmdbs(server, ...policies);
      kept.set(key, two);
      return pgHarness(server, { ...two, close: () => Promise.resolve() });
    },
  };
}

/** One area of the BMDB's contract, on PostgreSQL. */
export function contractOnPg(area: Area, start?: () => Promise<TimedPgServer>): void {
  bmdbContract('on PostgreSQL', pgStand(start).make, area);
}
