import { beforeEach, describe, expect, it } from 'vitest';
import { usePgServer } from '../pg/pg-harness.ts';

const server = usePgServer();
beforeEach(() => server.clear());

const one = async (sql: string, values: unknown[] = []): Promise<number> =>
  Number(Object.values((await server.sql.query(sql, values)).rows[0] as object)[0]);
const trim = (batch = 10_000) => one('SELECT shepherd_trim_logs(90, 1000, $1)', [batch]);
/** Until several calls in a row remove nothing: the choice of the scanned slots is random. */
async function trimAll(): Promise<number> {
  let gone = 0;
  for (let idle = 0; idle < 5;) {
    const count = await trim();
    gone += count;
    idle = count === 0 ? idle + 1 : 0;
  }
  return gone;
}
const events = (slot: string, count: number, days: number) =>
  server.sql.query(
    `INSERT INTO slot_events (provider, slot_id, kind, actor, at)
     SELECT 'metal', $1::text, 'x', 'test', now() - $3::int * interval '1 day' FROM generate_series(1, $2::int)`,
    [slot, count, days],
  );
const requests = (state: string, count: number, days: number) =>
  server.sql.query(
    `INSERT INTO operator_intents (idempotency_key, verb, actor, reason, state, created_at,
       expires_at, settled_at)
     SELECT $1::text || i || '/' || $3::int, 'hold', 'ann', 'why', $1::text, now() - $3::int * interval '1 day',
       now() + interval '1 hour',
       CASE WHEN $1::text <> 'open' THEN now() - $3::int * interval '1 day' END
     FROM generate_series(1, $2::int) i`,
    [state, count, days],
  );
const intents = (state: string, count: number, days: number) =>
  server.sql.query(
    `INSERT INTO provision_intents (witness, machine_id, provider, slot_id, hostname, state,
       session_id, updated_at)
     SELECT gen_random_uuid(), gen_random_uuid(), 'metal', $1::text || i || '/' || $3::int, 'h',
       $1::text::intent_state, gen_random_uuid(), now() - $3::int * interval '1 day'
     FROM generate_series(1, $2::int) i`,
    [state, count, days],
  );

describe('A10: the trimming of logs', () => {
  it('keeps the slot log for 90 days, and its newest 1000 lines', async () => {
    await events('busy', 700, 200);
    await events('busy', 600, 91);
    await events('busy', 500, 1);
    await events('lately', 1_500, 80);
    await events('idle', 20, 1_000);
    expect(await trimAll()).toBe(800);
    const left = (slot: string) =>
      one('SELECT count(*) FROM slot_events WHERE slot_id = $1', [slot]);
    expect([await left('busy'), await left('lately'), await left('idle')]).toEqual([
      ...[1_000, 1_500, 20],
    ]);
  });

  it('keeps the fleet log for as long, and its newest 1000 lines in all', async () => {
    const add = (count: number, days: number) =>
      server.sql.query(
        `INSERT INTO fleet_events (type, actor, at)
         SELECT 'session.expired', 'test', now() - $2::int * interval '1 day'
         FROM generate_series(1, $1::int)`,
        [count, days],
      );
    const trimEvents = () => one('SELECT shepherd_trim_events(90, 1000, 300)');
    await add(500, 200);
    await add(700, 91);
    await add(400, 1);
    expect([await trimEvents(), await trimEvents(), await trimEvents()]).toEqual([300, 300, 0]);
    expect(await one('SELECT count(*) FROM fleet_events')).toBe(1_000);
    expect(await one('SELECT min(seq) FROM fleet_events')).toBeGreaterThan(600);
    await expect(one('SELECT shepherd_trim_events(89, 1000, 300)')).rejects.toThrow(/90 days/);
  });

  it('keeps requests and creations for as long, and every open or unresolved one', async () => {
    await requests('open', 50, 400);
    await requests('done', 300, 400);
    await requests('refused', 900, 95);
    await requests('done', 300, 2);
    await intents('open', 30, 400);
    await intents('unresolved', 30, 400);
    await intents('adopted', 300, 400);
    await intents('failed', 900, 95);
    await intents('abandoned', 300, 2);
    expect(await trimAll()).toBe(1_000);
    const requestsLeft = `SELECT count(*) FROM operator_intents WHERE state`;
    expect(await one(`${requestsLeft} = 'open'`)).toBe(50);
    expect(await one(`${requestsLeft} <> 'open'`)).toBe(1_000);
    const intentsLeft = `SELECT count(*) FROM provision_intents WHERE state`;
    expect(await one(`${intentsLeft} IN ('open', 'unresolved')`)).toBe(60);
    expect(await one(`${intentsLeft} NOT IN ('open', 'unresolved')`)).toBe(1_000);
  });

  it('removes at most the requested number at once, and never earlier than stated', async () => {
    await requests('done', 1_200, 400);
    expect(await trim(50)).toBe(50);
    for (const args of ['89, 1000, 10', '90, 999, 10', '90, 1000, 0', '90, 1000, 10001']) {
      await expect(server.sql.query(`SELECT shepherd_trim_logs(${args})`)).rejects.toThrow(/kept/);
    }
  });
});
