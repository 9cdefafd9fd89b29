import { afterAll, beforeAll, expect, it } from 'vitest';
import {
  startedAt,
  KEY,
  machineRow,
  MINUTE,
  PROVIDER,
  providedOf,
} from '../../../contracts/bmdb-rows.ts';
import type { Bmdb } from '../../../../src/adapters/bmdb/port.ts';
import { insertMachine, pgHarness, startTimedPgServer } from '../pg/pg-harness.ts';
import type { TimedPgServer } from '../pg/pg-harness.ts';

/**
 * In a rolling upgrade the schema is migrated first, while daemons of the previous version
 * continue. So a migration may add nullable columns, and no column that those daemons would have to
 * know.
 */
let server: TimedPgServer;
beforeAll(async () => {
  server = await startTimedPgServer();
});
afterAll(() => server.stop());

const SIGNAL = new AbortController().signal;

/** Writes to nearly every table by persistent connections and prepared statements. */
async function work(bmdb: Bmdb, round: number): Promise<void> {
  const host = { component: 'shepherd', runtimeInfo: 'host test', intervalMs: 60_000 };
  const session = await bmdb.openSession(host);
  const slot = { provider: PROVIDER, slotId: `reservation-${round}`, hostname: `m-${round}` };
  const { witness } = await session.intents.open(slot);
  await session.intents.progress(witness, { attempts: 1 });
  const id = await session.intents.adopt(witness, providedOf(String(round)));
  await session.updateProvided(id, { status: 'Running' });
  const failed = await session.claim('ShepherdAgentStart', id);
  await failed.note({ kind: 'agentStartAttempt' });
  await failed.cancel();
  const started = await session.claim('ShepherdAgentStart', id);
  const change = { kind: 'agentStarted', publicKey: KEY, bootId: null, hostKey: 'k' } as const;
  await started.finish({ ...change, warnings: [] });
  await bmdb.heartbeats.recordHeartbeats([{ machineId: id, publicKey: KEY, bootId: null }]);
  const row = machineRow(server.time.nowMs(), startedAt(server.time.nowMs() - 40 * MINUTE));
  await insertMachine(server.sql, row);
  const recovery = await session.claim('ShepherdRecovery', row.machineId);
  await recovery.note({ kind: 'recoveryAsked', rung: 'rebooting', bootId: null });
  await recovery.fail({ initialMs: 1_000, exponent: 1, maximumMs: 1_000 }, 'test');
  const { machines } = await bmdb.scan(SIGNAL);
  expect(machines.length).toBe(2 * round);
  await bmdb.sweep();
  await session.close();
  await server.sql.query('DELETE FROM recovery_permits');
}

it('lets an older program write when every table has an additional nullable column', async () => {
  const { bmdb, close } = await pgHarness(server);
  await work(bmdb, 1);
  const { rows } = await server.sql.query<{ name: string }>(
    `SELECT tablename AS name FROM pg_tables
     WHERE schemaname = 'public' AND tablename <> 'schema_migrations'`,
  );
  expect(rows.length).toBeGreaterThan(20);
  for (const { name } of rows) {
    await server.sql.query(`ALTER TABLE ${name} ADD COLUMN of_a_later_version text`);
  }
  await work(bmdb, 2);
  const filled = await server.sql.query<{ n: string }>(
    `SELECT count(*) AS n FROM machines WHERE of_a_later_version IS NOT NULL`,
  );
  expect(filled.rows[0]!.n).toBe('0');
  await close();
});
