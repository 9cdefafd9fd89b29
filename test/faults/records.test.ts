import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import pg from 'pg';
import { afterEach, expect, test } from 'vitest';
import { createPgBmdb } from '../../src/adapters/bmdb/pg/pg-bmdb.ts';
import { systemClock, systemRandom } from '../../src/adapters/clock/system-clock.ts';
import { silentLog } from '../../src/adapters/log/port.ts';
import { providerName } from '../../src/domain/ids.ts';
import { DEFAULT_BUDGET, DEFAULT_LOSS } from '../../src/domain/policy.ts';
import { PATIENCE } from '../support/patience.ts';
import { openTestDatabase } from '../support/test-database.ts';
import { recordValue } from './record-value.ts';

const WRITER = join(import.meta.dirname, 'record-writer.ts');
const RACK = providerName('rack');
const SIGNAL = new AbortController().signal;
const RECORDS = 8;
const KILLS = 3;
const ENOUGH = 100;

const cleanups: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

test('a process that is killed while it writes leaves each record whole, to go on from', async () => {
  const database = await openTestDatabase();
  cleanups.push(() => database.stop());
  const sql = new pg.Client({ connectionString: database.ownerUrl });
  await sql.connect();
  cleanups.push(() => sql.end());
  for (let run = 0; run < KILLS; run++) {
    const acknowledged = await killedAfter(ENOUGH, database.url, run);
    await expect.poll(() => connectionsOf(sql, database.role), PATIENCE).toBe(0);
    const bmdb = open(database.url);
    const host = { component: 'shepherd', runtimeInfo: 'host test', intervalMs: 60_000 };
    const session = await bmdb.openSession(host);
    const rows = await bmdb.records.all(RACK, SIGNAL);
    expect(rows.map(({ key }) => key)).toEqual(expect.arrayContaining([...acknowledged.keys()]));
    for (const { key, value, version } of rows) {
      const { step } = value as ReturnType<typeof recordValue>;
      expect(value).toEqual(recordValue(key, step));
      expect(step).toBeGreaterThanOrEqual(acknowledged.get(key) ?? 0);
      const name = { provider: RACK, key };
      const next = await session.records.replace(name, recordValue(key, step + 1), version);
      await session.records.drop(name, next);
    }
    expect(await bmdb.records.all(RACK, SIGNAL)).toEqual([]);
    await session.close();
    await bmdb.close();
  }
});

const open = (url: string) =>
  createPgBmdb({
    url,
    clock: systemClock,
    random: systemRandom,
    log: silentLog,
    loss: DEFAULT_LOSS,
    budget: DEFAULT_BUDGET,
    wakes: 'poll',
  });

/** The server ends what the dead had asked for, and only then hears that they are gone. */
async function connectionsOf(sql: pg.Client, role: string): Promise<number> {
  const { rows } = await sql.query<{ count: number }>(
    'SELECT count(*)::int4 AS count FROM pg_stat_activity WHERE usename = $1',
    [role],
  );
  return rows[0]!.count;
}

/** The last step of each record of which the process told before it was killed. */
async function killedAfter(count: number, url: string, run: number): Promise<Map<string, number>> {
  const child = fork(WRITER, [url, String(run), String(RECORDS)], {
    execArgv: ['--disable-warning=ExperimentalWarning'],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  cleanups.push(() => void child.kill('SIGKILL'));
  const steps = new Map<string, number>();
  let told = 0;
  child.on('message', ({ key, step }: { key: string; step: number }) => {
    told += 1;
    steps.set(key, step);
  });
  await expect.poll(() => told, { ...PATIENCE, interval: 5 }).toBeGreaterThan(count * (run + 1));
  await killed(child);
  return steps;
}

/** All that it told before is heard, too. */
async function killed(child: ChildProcess): Promise<void> {
  const gone = once(child, 'close');
  child.kill('SIGKILL');
  await gone;
}
