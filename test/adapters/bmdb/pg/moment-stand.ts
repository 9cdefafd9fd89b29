import type pg from 'pg';
import { afterAll, beforeAll } from 'vitest';
import { queriesOf } from '../../../../src/adapters/bmdb/pg/pool.ts';
import type { Queries } from '../../../../src/adapters/bmdb/pg/pool.ts';
import { NEWER_VALUES } from './eligibility-cases.ts';
import { startPgServer } from './pg-harness.ts';
import type { PgServer } from './pg-harness.ts';

type InMoment = <T>(run: (q: Queries, client: pg.PoolClient) => Promise<T>) => Promise<T>;

/**
 * Registers a database that knows `NEWER_VALUES`. Runs the given calls in one transaction, so that
 * `now()` stands still, and leaves nothing behind.
 */
export function momentStand(): InMoment {
  let server: PgServer;
  beforeAll(async () => {
    server = await startPgServer();
    await server.clear();
    for (const [type, value] of Object.entries(NEWER_VALUES)) {
      await server.sql.query(`ALTER TYPE ${type} ADD VALUE '${value}'`);
    }
  });
  afterAll(() => server.stop());
  return async (run) => {
    const client = await server.sql.connect();
    try {
      await client.query('BEGIN');
      return await run(queriesOf(client, { doing: 'compare' }), client);
    } finally {
      await client.query('ROLLBACK');
      client.release();
    }
  };
}
