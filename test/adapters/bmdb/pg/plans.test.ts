import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Database } from '../../../../src/adapters/bmdb/pg/pool.ts';
import { loadFleet } from '../../../bench/bmdb/fleet.ts';
import { openPgDatabase, usePgServer } from './pg-harness.ts';
import { complaintsAboutPlan, genericPlan, outlineOf } from './query-plans.ts';
import { registeredStatements } from './statement-registry.ts';

const FLEET = { free: 25_000, started: 70_000, others: 5_000 };
/** A table of `readMax` rows is read in less than a millisecond. `sortMax` exceeds any batch. */
const LIMITS = { readMax: 1_000, sortMax: 10_000 };

const FOR_PEOPLE = 'a person asks, now and then, for the whole fleet';
/** Statements that should read many machines, or that nobody waits for, each with the reason. */
const WHOLE_FLEET: Readonly<Record<string, string>> = {
  'statistics-conditions': FOR_PEOPLE,
  'statistics-work': FOR_PEOPLE,
  'statistics-backoffs': FOR_PEOPLE,
  'sessions-work': FOR_PEOPLE,
  'fleet-begin': 'the mirror reads everything at first, and now and then',
  holds: 'the mirror reads all holds each time; people set them by hand',
  'sweep-fell-silent':
    'the janitor, once the guard counted somebody; reads narrow tables of what the guard reads',
  'guard-counts': 'one daemon of all looks at the whole fleet, every few seconds',
  'hardware-gaps':
    'an agent server looks every 5 min: one query for the whole fleet, 0.2 s from a cold disk',
  'guard-quiet': 'before a permit is granted; reads each machine once, one after the other',
  'work-cancel-of-sessions':
    'only when a session ends; without an index, claims update their leases in place',
  'records-count': FOR_PEOPLE,
  'events-latest':
    'a person asks, now and then; a plan for its values reads from the newest row on',
  'sweep-due': 'the janitor, every 10 s: reads two columns of each lease, as its steps do',
  'work-cancel-orphaned': 'the janitor; sessions are deleted by people only',
};

/** Statements that run only under the settings of claims, ends and heartbeats: see `byKeys`. */
const BY_KEYS = new Set(
  `claim ends agent-starts tags ladder-rows heartbeat-store agent-reports episodes intents provided leases
   member-writes repository forget delete-tags`
    .split(/\s+/)
    .map((name) => `${name}.ts`),
);
/** Statements that run with and without these settings. */
const BOTH = new Set(
  'notes cancel live permits tag-types guard-repository guard-rows records'
    .split(' ')
    .map((name) => `${name}.ts`),
);
/** Rows that one statement reads with many others, all of which must be found by an index. */
const WITH_HOLDS: ReadonlySet<string> = new Set(['changes.ts: changes', 'rows.ts: surroundings']);
const ALL_HOLDS = 'reads all 5000 rows of slot_holds';

const server = usePgServer();
/** Plans are made on the connections of a daemon, with its role and its settings. */
const databases: Partial<Record<Settings, Database>> = {};
type Settings = 'plain' | 'by keys';
const sizes = new Map<string, number>();
beforeAll(async () => {
  await loadFleet(server.sql, FLEET);
  for (const [table, load] of Object.entries(LOADS)) {
    await server.sql.query(`${load}; ANALYZE ${table}`);
  }
  const { url } = server;
  databases.plain = openPgDatabase({ url });
  databases['by keys'] = openPgDatabase({ url, byKeys: true });
  const { rows } = await server.sql.query<{ name: string; size: number }>(
    `SELECT relname AS name, reltuples::int4 AS size FROM pg_class
     WHERE relkind IN ('r', 'i') AND relnamespace = 'public'::regnamespace`,
  );
  for (const { name, size } of rows) sizes.set(name, size);
});

const LOADS: Readonly<Record<string, string>> = {
  // Years of operator requests, almost none of them open, and most of them orders.
  operator_intents: `
    INSERT INTO operator_intents (idempotency_key, verb, provider, slot_id, machine_id, actor,
      reason, state, created_at)
    SELECT 'request ' || place, (ARRAY['reboot', 'hold', 'deprovision'])[place % 3 + 1],
      p.provider, coalesce(p.provider_reservation_id, p.provider_id), p.machine_id, 'ann', 'x',
      CASE WHEN place % 2000 = 0 THEN 'open' ELSE 'done' END, now() - place * interval '1 min'
    FROM (SELECT p.*, row_number() OVER () AS place FROM machine_provided p) p`,
  // In ten large racks.
  provider_records: `
    INSERT INTO provider_records (provider, key, value, version)
    SELECT 'rack' || n % 10, 'bmc-' || n, '{"set": "ours"}', n FROM generate_series(1, 20000) n`,
  // In one large pool at two balancers.
  pool_members: `
    INSERT INTO pool_members (pool, balancer, machine_id, state)
    SELECT 'api', b.name, m.machine_id, 'active'
    FROM (SELECT machine_id FROM machine_agent_started LIMIT 10000) m, (VALUES ('a'), ('b')) b (name)`,
};

afterAll(() => Promise.all([databases.plain?.close(), databases['by keys']?.close()]));

const registered = await registeredStatements();
const hot = registered.filter(
  ({ statement }) =>
    WHOLE_FLEET[statement.name] === undefined && !/^(FETCH|CLOSE) /.test(statement.text),
);

test('fills the fleet to its intended size', async () => {
  expect(Object.fromEntries(sizes)).toMatchObject({
    ...{ machines: 100_000, work: 100_000, work_history: 300_000, operator_intents: 100_000 },
    ...{ machine_agent_heartbeat: 70_000, provision_intents: 100_000 },
  });
  expect(sizes.get('operator_intents_order_key')).toBeLessThan(100);
  const { rows } = await server.sql.query(
    `SELECT 1 FROM provision_intents WHERE state IN ('open', 'unresolved')`,
  );
  expect(rows.length).toBeGreaterThan(0);
  expect(rows.length, 'few are not settled').toBeLessThan(100);
});

const settingsFor = (file: string): Settings[] => {
  if (BOTH.has(file)) return ['plain', 'by keys'];
  return [BY_KEYS.has(file) ? 'by keys' : 'plain'];
};
const cases = hot.flatMap(({ file, name, statement }) =>
  settingsFor(file).map((settings) => [`${file}: ${name}`, settings, statement.text] as const),
);

/** The faults of a statement's plan, with the plan itself for the person who repairs it. */
async function complaintsAbout(text: string, settings: Settings) {
  const plan = await genericPlan(databases[settings]!, text);
  return { outline: outlineOf(plan), complaints: complaintsAboutPlan(plan, { sizes, ...LIMITS }) };
}

test.each(cases)('%s (%s) reads by an index', async (name, settings, text) => {
  const { outline, complaints } = await complaintsAbout(text, settings);
  expect(complaints, outline).toEqual(WITH_HOLDS.has(name) ? [ALL_HOLDS] : []);
});

test('runs statements by key under the settings that make the planner use the keys', async () => {
  const scan = 'SELECT 1 FROM machine_provided WHERE provider_ip_address = $1';
  expect((await complaintsAbout(scan, 'plain')).outline).toMatch(/^Seq Scan/);
  const walk = await complaintsAbout('SELECT count(*) FROM machines WHERE $1::int > 0', 'by keys');
  expect(walk.outline).toMatch(/Index Only Scan machines/);
  expect(walk.complaints).toEqual(['reads all 100000 rows of machines']);
});

test('excepts only statements that exist', () => {
  const names = registered.map(({ statement }) => statement.name);
  expect(Object.keys(WHOLE_FLEET).filter((name) => !names.includes(name))).toEqual([]);
  const files = new Set(registered.map(({ file }) => file));
  expect([...BY_KEYS, ...BOTH].filter((file) => !files.has(file))).toEqual([]);
});

test.each([
  ['a scan deep inside', 'SELECT (SELECT count(*) FROM work w WHERE w.epoch = $1)', /of work/],
  [
    'a walk along a whole index',
    'SELECT machine_id FROM machines JOIN work USING (machine_id) WHERE $1::int > 0',
    /all 100000 rows/,
  ],
  [
    'a sort of everything',
    'SELECT machine_id FROM machines ORDER BY machine_created_at, $1::int',
    /sorts 100000 rows/,
  ],
  [
    'not the first of many',
    'SELECT machine_id FROM machines WHERE $1::int > 0 ORDER BY 1 LIMIT 10',
    /^$/,
  ],
])('finds a bad plan: %s', async (_, text, complaint) => {
  for (const settings of ['plain', 'by keys'] as const) {
    expect((await complaintsAbout(text, settings)).complaints.join()).toMatch(complaint);
  }
});
