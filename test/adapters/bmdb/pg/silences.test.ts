import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { FROM } from '../../../../src/adapters/bmdb/pg/eligibility.ts';
import { queriesOf } from '../../../../src/adapters/bmdb/pg/pool.ts';
import { readSnapshot } from '../../../../src/adapters/bmdb/pg/reading/rows.ts';
import {
  isHeardAgainSql,
  silentSinceSql,
  STATE_AFTER,
  STATE_BEFORE,
} from '../../../../src/adapters/bmdb/pg/guard/silences.ts';
import { ms } from '../../../../src/adapters/bmdb/pg/sql.ts';
import { statement } from '../../../../src/adapters/bmdb/pg/statement.ts';
import { DEFAULT_LOSS } from '../../../../src/domain/policy.ts';
import {
  fellSilent,
  heardAgain,
  isHeardAgain,
  silentSinceMs,
} from '../../../../src/domain/recovery/silence.ts';
import { casesAround, NEWER_VALUES, store } from './eligibility-cases.ts';
import { startPgServer } from './pg-harness.ts';
import type { PgServer } from './pg-harness.ts';

let server: PgServer;
beforeAll(async () => {
  server = await startPgServer();
  for (const [type, value] of Object.entries(NEWER_VALUES)) {
    await server.sql.query(`ALTER TYPE ${type} ADD VALUE '${value}'`);
  }
});
afterAll(() => server.stop());

describe('silence in SQL', () => {
  it('A10: says the same as the pure functions, for any rows', async () => {
    const probe = statement({
      name: 'compare-silences',
      params: {},
      columns: {
        id: 'uuid',
        since: 'float8?',
        again: 'bool',
        before: 'text',
        after: 'text',
        count: 'int8?',
      },
      text: () => `SELECT m.machine_id AS id, ${ms(silentSinceSql(DEFAULT_LOSS))} AS since,
        coalesce(${isHeardAgainSql(DEFAULT_LOSS)}, false) AS again, ${STATE_BEFORE} AS before,
        ${STATE_AFTER} AS after, h.unbroken_count AS count ${FROM}`,
    });
    const seen = new Set<string>();
    await fc.assert(
      fc.asyncProperty(casesAround(Date.now()), async (cases) => {
        const client = await server.sql.connect();
        try {
          await client.query('BEGIN');
          await store(client, cases);
          await client.query(`UPDATE machine_agent_heartbeat SET unbroken_count =
            1 + ('x' || left(machine_id::text, 1))::bit(4)::int % 5`);
          const q = queriesOf(client, { doing: 'compare' });
          const { machines, nowMs } = await readSnapshot(q);
          const moment = { nowMs, loss: DEFAULT_LOSS };
          const inSql = new Map((await q.rows(probe, {})).map((row) => [row.id, row]));
          for (const row of machines.filter(({ unreadable }) => unreadable === undefined)) {
            const { count, ...said } = inSql.get(row.machineId)!;
            const unbroken = { sinceMs: 0, count: Number(count ?? 0) };
            const expected = {
              id: row.machineId,
              since: silentSinceMs(row, moment),
              again: isHeardAgain({ row, unbroken }, moment),
              before: fellSilent(row).from,
              after: heardAgain(row, nowMs).to,
            };
            expect({ row, ...said }).toEqual({ row, ...expected });
            seen.add(`silent: ${expected.since !== null}`).add(`again: ${expected.again}`);
            seen.add(`before: ${expected.before}`).add(`after: ${expected.after}`);
          }
        } finally {
          await client.query('ROLLBACK');
          client.release();
        }
      }),
      { numRuns: 5, endOnFailure: true },
    );
    for (const which of ['silent', 'again']) {
      for (const is of [true, false]) expect(seen).toContain(`${which}: ${is}`);
    }
    for (const substate of ['healthy', 'awaitingHeartbeat', 'installingOs']) {
      expect(seen).toContain(`before: Running · ${substate}`);
    }
    for (const state of ['Quarantined · missing', 'Deprovisioning', 'HandedOver · installed']) {
      expect(seen).toContain(`after: ${state}`);
    }
  });
});
