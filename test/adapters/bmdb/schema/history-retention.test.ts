import pg from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startPgServer } from '../pg/pg-harness.ts';
import type { PgServer } from '../pg/pg-harness.ts';

let server: PgServer;
let running: pg.Pool;
beforeAll(async () => {
  server = await startPgServer();
  running = new pg.Pool({ connectionString: server.url, max: 4 });
});
afterAll(async () => {
  await running.end();
  await server.stop();
});
beforeEach(() => server.clear());

const machine = (n: number) => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`;

/** Adds history lines of a machine, a minute apart, the newest this many days old. */
const add = (id: string, count: number, newestDays: number) =>
  server.sql.query(
    `INSERT INTO work_history (machine_id, process, event, "timestamp")
     SELECT $1, 'UnitTest1', 'Failed',
       now() - make_interval(days => $3::int) - (interval '1 minute' * ($2::int - line))
     FROM generate_series(1, $2::int) AS line ORDER BY line`,
    [id, count, newestDays],
  );
async function trim(batch = 10_000, days = 90, rows = 1_000): Promise<number> {
  const answer = await running.query<{ gone: string }>(
    `SELECT shepherd_trim_history($1, $2, $3) AS gone`,
    [days, rows, batch],
  );
  return Number(answer.rows[0]!.gone);
}
async function countOf(id: string): Promise<number> {
  const { rows } = await server.sql.query<{ n: string }>(
    `SELECT count(*) AS n FROM work_history WHERE machine_id = $1`,
    [id],
  );
  return Number(rows[0]!.n);
}

describe('work history', () => {
  it.each([
    ['few and old: all stay', [[900, 400]], 900],
    ['many and new: all stay', [[1_500, 10]], 1_500],
    ['many and old: a thousand stay', [[1_500, 100]], 1_000],
    [
      'many old and few new: a thousand stay',
      [
        [1_500, 100],
        [300, 1],
      ],
      1_000,
    ],
    [
      'some old and many new: the new ones stay',
      [
        [500, 100],
        [1_200, 1],
      ],
      1_200,
    ],
  ] as const)('%s', async (_, batches, left) => {
    for (const [count, days] of batches) await add(machine(1), count, days);
    await add(machine(2), 1_000, 400);
    const all = batches.reduce((sum, [count]) => sum + count, 0);
    expect(await trim()).toBe(all - left);
    expect([await countOf(machine(1)), await countOf(machine(2))]).toEqual([left, 1_000]);
    expect(await trim()).toBe(0);
  });

  it('keeps the newest lines', async () => {
    await add(machine(1), 1_200, 100);
    const newest = `SELECT array_agg(seq ORDER BY seq) AS seqs FROM (SELECT seq FROM work_history
      ORDER BY seq DESC LIMIT 1000) AS newest`;
    const before = await server.sql.query(newest);
    expect(await trim()).toBe(200);
    const all = await server.sql.query(
      `SELECT array_agg(seq ORDER BY seq) AS seqs FROM work_history`,
    );
    expect(all.rows).toEqual(before.rows);
  });

  it('shrinks by a bounded number of lines per call, and in the end for every machine', async () => {
    for (const n of [1, 2, 3]) await add(machine(n), 1_400, 100);
    const gone: number[] = [];
    while (gone.at(-1) !== 0) gone.push(await trim(500));
    expect(gone.every((each) => each <= 500)).toBe(true);
    expect(gone.reduce((sum, each) => sum + each)).toBe(1_200);
    for (const n of [1, 2, 3]) expect(await countOf(machine(n))).toBe(1_000);
  });

  it('can be trimmed by several callers at once', async () => {
    for (const n of [1, 2, 3]) await add(machine(n), 1_400, 100);
    const gone = await Promise.all(Array.from({ length: 4 }, () => trim(400)));
    const late: number[] = [];
    while (late.at(-1) !== 0) late.push(await trim(400));
    expect([...gone, ...late].reduce((sum, each) => sum + each)).toBe(1_200);
  });

  it('is scanned for a bounded number of machines per call, and for each machine in time', async () => {
    await server.sql.query(
      `INSERT INTO work_history (machine_id, process, event)
       SELECT gen_random_uuid(), 'UnitTest1', 'Started' FROM generate_series(1, 300)`,
    );
    const id = '80000000-0000-4000-8000-000000000000';
    await add(id, 1_100, 100);
    let calls = 0;
    for (; calls < 1_000 && (await countOf(id)) > 1_000; calls++) await trim();
    expect(await countOf(id)).toBe(1_000);
    expect(calls).toBeGreaterThan(0);
  });

  it.each([
    [89, 1_000, 1],
    [90, 999, 1],
    [90, 1_000, 0],
    [90, 1_000, 10_001],
    [-1, -1, 1],
  ])(
    'is never trimmed below the agreed limits: %d days, %d rows, %d at a time',
    async (...limits) => {
      await add(machine(1), 1_100, 100);
      const [days, rows, batch] = limits;
      await expect(trim(batch, days, rows)).rejects.toMatchObject({ code: '22023' });
      expect(await countOf(machine(1))).toBe(1_100);
    },
  );

  it('is trimmed by no other role, and by no other function of the same name', async () => {
    const { rows } = await server.sql.query(
      `SELECT p.prosecdef AS definer, p.proconfig AS settings,
         has_function_privilege('pg_monitor', p.oid, 'EXECUTE') AS others
       FROM pg_proc p WHERE proname = 'shepherd_trim_history'`,
    );
    expect(rows).toEqual([
      { definer: true, settings: ['search_path=pg_catalog, public, pg_temp'], others: false },
    ]);
    await add(machine(1), 1_100, 100);
    // If temporary tables were searched first, this table would hide the real one.
    const client = await server.sql.connect();
    await client.query('CREATE TEMPORARY TABLE work_history (LIKE public.work_history)');
    await client.query('SELECT shepherd_trim_history(90, 1000, 1000)');
    await client.query('DROP TABLE pg_temp.work_history');
    client.release();
    expect(await countOf(machine(1))).toBe(1_000);
  });
});
