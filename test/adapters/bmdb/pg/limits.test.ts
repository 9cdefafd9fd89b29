import { expect, it } from 'vitest';
import { claimStand } from './claim-stand.ts';

const s = claimStand(4_000);

it('sweeps at most 100 sessions, the longest dead first, and the rest next time', async () => {
  await s.sql(
    `INSERT INTO sessions (session_component_name, session_runtime_info, session_interval_seconds,
       session_deadline)
     SELECT 'shepherd', 'dead ' || n, 5, now() - interval '1 minute' - n * interval '1 second'
     FROM generate_series(1, 130) n`,
  );
  expect(await s.bmdb.sweep()).toMatchObject({ sessions: 100, work: 0 });
  const rows = await s.sql<{ name: string }>(
    `SELECT session_runtime_info AS name FROM sessions WHERE session_deadline < now()
     ORDER BY session_deadline DESC`,
  );
  expect(rows.map(({ name }) => name)).toEqual(
    Array.from({ length: 30 }, (_, at) => `dead ${at + 1}`),
  );
  expect(await s.bmdb.sweep()).toMatchObject({ sessions: 30, work: 0 });
  // The live ones stay.
  await Promise.all([s.session.poke(), s.rival.poke()]);
});

it('enforces the limits of records in the database', async () => {
  const insert = `INSERT INTO provider_records (provider, key, value, version) VALUES ($1, $2, $3, 'v')`;
  for (const [key, value] of [
    ['', '1'],
    ['x'.repeat(201), '1'],
    ['key', JSON.stringify('x'.repeat(16 * 1024))],
  ]) {
    await expect(s.sql(insert, ['rack', key, value])).rejects.toMatchObject({ code: '23514' });
  }
});
