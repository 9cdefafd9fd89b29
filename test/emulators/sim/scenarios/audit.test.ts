import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startEmbeddedPostgres } from '../../../../src/adapters/bmdb/embedded/embedded-postgres.ts';
import type { EmbeddedPostgres } from '../../../../src/adapters/bmdb/embedded/embedded-postgres.ts';
import { migrate } from '../../../../src/adapters/bmdb/schema/migrate.ts';
import { silentLog } from '../../../../src/adapters/log/port.ts';
import { openAudit, type Audit } from '../../../../emulators/sim/scenarios/audit.ts';

let server: EmbeddedPostgres;
let audit: Audit;
/** As a daemon has it: a role that may not see the audit. */
let daemon: pg.Client;
beforeAll(async () => {
  server = await startEmbeddedPostgres({ log: silentLog });
  await migrate(server.ownerUrl, silentLog, { grantTo: server.role });
  audit = await openAudit(server.ownerUrl);
  daemon = new pg.Client({ connectionString: server.url });
  await daemon.connect();
  for (const device of ['a', 'b', 'c', 'd']) await addMachine(device);
});
afterAll(async () => {
  await daemon.end();
  await audit.close();
  await server.stop();
});

const ids = new Map<string, string>();
const locations: Readonly<Record<string, string>> = { a: 'one', b: 'one', c: 'two', d: 'two' };

async function addMachine(device: string): Promise<void> {
  const { rows } = await daemon.query<{ machine_id: string }>(
    'INSERT INTO machines DEFAULT VALUES RETURNING machine_id',
  );
  const id = rows[0]!.machine_id;
  ids.set(device, id);
  await daemon.query(
    `INSERT INTO machine_provided (machine_id, provider, provider_id, provider_location)
     VALUES ($1, 'p', $2, $3)`,
    [id, device, locations[device]],
  );
}
const grant = (device: string) =>
  daemon.query(
    `INSERT INTO recovery_permits (machine_id, provider, location) VALUES ($1, 'p', $2)`,
    [ids.get(device), locations[device]],
  );
const give = (device: string) =>
  daemon.query('DELETE FROM recovery_permits WHERE machine_id = $1', [ids.get(device)]);
const event = (device: string, kind: string, reason: string) =>
  daemon.query(
    `INSERT INTO slot_events (provider, slot_id, machine_id, kind, actor, reason)
     VALUES ('p', $2, $1, $3, 'shepherd', $4)`,
    [ids.get(device), device, kind, reason],
  );

test('permits are counted at their most, in the fleet and in each location', async () => {
  const mark = await audit.mark();
  await grant('a');
  await give('a');
  await grant('b');
  await grant('c');
  await grant('d');
  await give('b');
  await grant('a');
  const { fleet, byLocation } = await audit.permits(mark);
  expect(fleet).toBe(3);
  expect(Object.fromEntries(byLocation)).toEqual({ one: 1, two: 2 });
  const later = await audit.mark();
  await give('a');
  expect((await audit.permits(later)).fleet, 'those that are still held count').toBe(2);
  for (const device of ['c', 'd']) await give(device);
  expect((await audit.permits(await audit.mark())).fleet).toBe(0);
});

test('what a transaction took back was never held', async () => {
  const mark = await audit.mark();
  await daemon.query('BEGIN');
  await grant('a');
  await daemon.query('ROLLBACK');
  expect((await audit.permits(mark)).fleet).toBe(0);
});

test('the log tells what was asked of which machine, and who was noticed at all', async () => {
  await event('a', 'recoveryAsked', 'rebooting');
  const mark = await audit.mark();
  await event('b', 'recoveryAsked', 'restartingAgent');
  await event('b', 'recoveryAsked', 'rebooting');
  await event('c', 'recoveryAsked', 'rebooting, ordered by ann: a new kernel');
  await event('d', 'recovered', 'rebooting');
  expect(await audit.asked(mark)).toEqual({ restartingAgent: 1, rebooting: 2 });
  expect(Object.fromEntries(await audit.askedOf(mark))).toEqual({
    b: ['restartingAgent', 'rebooting'],
    c: ['rebooting'],
  });
  expect([...(await audit.noticed(mark)).keys()].toSorted()).toEqual(['b', 'c', 'd']);
});

test('work of any kind is noticed too, and agents that were started are counted', async () => {
  const mark = await audit.mark();
  const work = (device: string, name: string) =>
    daemon.query(
      `INSERT INTO work_history (machine_id, process, event) VALUES ($1, 'ShepherdAgentStart', $2)`,
      [ids.get(device), name],
    );
  await work('a', 'Started');
  await work('a', 'Finished');
  await work('b', 'Started');
  await work('b', 'Failed');
  expect(await audit.agentStarts(mark)).toBe(1);
  expect([...(await audit.noticed(mark)).keys()].toSorted()).toEqual(['a', 'b']);
});

test('time counts as frozen once, however many scopes are; also while it lasts', async () => {
  const freeze = (scope: string, at: string) =>
    daemon.query(
      `INSERT INTO fleet_guard (scope, frozen_at, frozen_kind, frozen_by, reason)
       VALUES ($1, ${at}, CASE WHEN ${at} IS NULL THEN NULL ELSE 'silence' END, 'guard', 'test')
       ON CONFLICT (scope) DO UPDATE SET frozen_at = excluded.frozen_at,
         frozen_kind = excluded.frozen_kind`,
      [scope],
    );
  const mark = await audit.mark();
  expect(await audit.frozenSeconds(mark)).toBe(0);
  await freeze('fleet', 'now()');
  await freeze('p', 'now()');
  const during = await audit.frozenSeconds(mark);
  expect(during).toBeGreaterThan(0);
  await daemon.query('SELECT pg_sleep(0.2)');
  await freeze('fleet', 'NULL');
  await freeze('p', 'NULL');
  const sinceMark = await daemon.query<{ seconds: number }>(
    'SELECT extract(epoch FROM clock_timestamp() - $1::timestamptz)::float8 AS seconds',
    [mark.at],
  );
  const whole = await audit.frozenSeconds(mark);
  expect(whole).toBeGreaterThanOrEqual(0.2);
  expect(whole, 'not twice').toBeLessThan(sinceMark.rows[0]!.seconds);
  expect(await audit.frozenSeconds(mark), 'it has ended').toBe(whole);
});

test('cool-downs are kept in their order, also when one is as long as the last', async () => {
  const mark = await audit.mark();
  await daemon.query(
    `INSERT INTO machine_recovery (machine_id, rung, attempts) VALUES ($1, 'rebooting', 1)`,
    [ids.get('a')],
  );
  for (const seconds of [1, 2, 2]) {
    await daemon.query(
      `UPDATE machine_recovery SET next_at = now(), cool_down_seconds = $2 WHERE machine_id = $1`,
      [ids.get('a'), seconds],
    );
  }
  expect(Object.fromEntries(await audit.coolDowns(mark))).toEqual({ a: [1, 2, 2] });
});

test('quarantines are told by kind', async () => {
  for (const [device, kind] of [
    ['a', 'needsHuman'],
    ['b', 'conflict'],
  ]) {
    await daemon.query(
      `INSERT INTO machine_quarantined (machine_id, kind, reason, set_by)
       VALUES ($1, $2, 'test', 'test')`,
      [ids.get(device!), kind],
    );
  }
  expect([...(await audit.quarantined('needsHuman'))]).toEqual(['a']);
});

test('what machines were to balancers is told in order, to the end of the row', async () => {
  const write = (text: string) => daemon.query(text, [ids.get('c')]);
  const beganMs = Date.now();
  await write(`INSERT INTO pool_members (pool, balancer, machine_id, state)
    VALUES ('web', 'lb', $1, 'joining')`);
  await write(`UPDATE pool_members SET state = 'active', note = 'well' WHERE machine_id = $1`);
  await write(`UPDATE pool_members SET note = 'very well' WHERE machine_id = $1`);
  await write(`DELETE FROM pool_members WHERE machine_id = $1`);
  const found = await audit.memberships();
  expect([...found.keys()]).toEqual(['c']);
  const life = found.get('c')!;
  // A statement that writes no state tells of none.
  expect(life.map(({ state }) => state)).toEqual(['joining', 'active', null]);
  expect(life[0]).toMatchObject({ pool: 'web', balancer: 'lb' });
  const times = life.map(({ atMs }) => atMs);
  expect(times).toEqual(times.toSorted((a, b) => a - b));
  expect(Math.floor(times[0]!)).toBeGreaterThanOrEqual(beganMs);
});
