import { readdir, readFile } from 'node:fs/promises';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createPgBmdb } from '../../src/adapters/bmdb/pg/pg-bmdb.ts';
import type { Bmdb, BmdbSession } from '../../src/adapters/bmdb/port.ts';
import { systemClock, systemRandom } from '../../src/adapters/clock/system-clock.ts';
import { silentLog } from '../../src/adapters/log/port.ts';
import { healthOf } from '../../src/daemon/health.ts';
import { DEFAULT_BUDGET, DEFAULT_LOSS } from '../../src/domain/policy.ts';
import { startOwnPgServer, type PgServer } from '../adapters/bmdb/pg/pg-harness.ts';
import { PATIENCE } from '../support/patience.ts';

let server: PgServer;
let bmdb: Bmdb;
let session: BmdbSession;
beforeEach(async () => {
  server = await startOwnPgServer();
  bmdb = createPgBmdb({
    url: server.url,
    clock: systemClock,
    random: systemRandom,
    log: silentLog,
    loss: DEFAULT_LOSS,
    budget: DEFAULT_BUDGET,
    poolMax: 2,
  });
  // So long that neither its end nor the age of a scan reveals the database's failure in this test.
  session = await bmdb.openSession({
    component: 'shepherd',
    runtimeInfo: 'host test',
    intervalMs: 3_600_000,
  });
});
afterEach(async () => {
  await server.stop();
  await bmdb.close();
});

const health = () =>
  healthOf({
    keeper: { current: () => session },
    mirror: { lastScanAt: () => systemClock.monotonic() },
    clock: systemClock,
    scanMs: 60_000,
    unlisted: () => [],
  });
const WAIT = { ...PATIENCE, interval: 50 };

/** Process ids of the server: the first, and all that it started. */
async function processesOf({ sql }: PgServer): Promise<number[]> {
  const { rows } = await sql.query<{ text: string }>(
    `SELECT pg_read_file('postmaster.pid') AS text`,
  );
  const postmaster = Number.parseInt(rows[0]!.text, 10);
  const all = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number);
  const isOurs = async (pid: number) => {
    const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
    return status.includes(`\nPPid:\t${postmaster}\n`);
  };
  const ours = await Promise.all(all.map(isOurs));
  return [postmaster, ...all.filter((_, at) => ours[at])];
}

test('C7: /readyz reports a stopped database, though the session is still valid', async () => {
  const report = health();
  expect((await report()).checks['database']).toMatchObject({ ok: true });
  const [postmaster] = await processesOf(server);
  process.kill(postmaster!, 'SIGINT');
  await vi.waitFor(async () => {
    const { database, session: alive } = (await report()).checks;
    expect(database).toMatchObject({ ok: false, detail: expect.stringMatching(/extend session/) });
    expect(alive!.ok).toBe(true);
  }, WAIT);
});

test('C7: /readyz reports a silent database, and its return', async () => {
  const report = health();
  const processes = await processesOf(server);
  for (const pid of processes) process.kill(pid, 'SIGSTOP');
  try {
    await vi.waitFor(async () => {
      expect((await report()).checks['database']!.ok).toBe(false);
    }, WAIT);
  } finally {
    for (const pid of processes) process.kill(pid, 'SIGCONT');
  }
  await vi.waitFor(async () => {
    expect((await report()).checks['database']!.ok).toBe(true);
  }, WAIT);
});

test('C7: shares one question to the database among many callers', async () => {
  const poke = vi.spyOn(session, 'poke');
  const report = health();
  await Promise.all(Array.from({ length: 50 }, report));
  expect(poke).toHaveBeenCalledTimes(1);
});
