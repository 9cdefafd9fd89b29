import { installing } from '../../../contracts/bmdb-vectors.ts';
import pg from 'pg';
import type { Observable } from 'rxjs';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { queriesOf } from '../../../../src/adapters/bmdb/pg/pool.ts';
import type { Queries } from '../../../../src/adapters/bmdb/pg/pool.ts';
import {
  readAllMachines,
  readMachines,
  statements,
} from '../../../../src/adapters/bmdb/pg/reading/rows.ts';
import type { WakesMode } from '../../../../src/adapters/bmdb/pg/wake-signals.ts';
import type { Bmdb, Wake } from '../../../../src/adapters/bmdb/port.ts';
import { systemClock } from '../../../../src/adapters/clock/system-clock.ts';
import type { Cursor, MachineId } from '../../../../src/domain/ids.ts';
import type { MachineRow } from '../../../../src/domain/machine.ts';
import { machineRow } from '../../../contracts/bmdb-rows.ts';
import { openOn } from './claim-stand.ts';
import { insertMachine, openPgBmdb, startOwnPgServer, usePgServer } from './pg-harness.ts';
import { PATIENCE } from '../../../support/patience.ts';

const SIGNAL = new AbortController().signal;

const server = usePgServer(startOwnPgServer);
let bmdb: Bmdb;
const open = (wakes: WakesMode = 'listen'): Bmdb =>
  openPgBmdb({ clock: systemClock, url: server.url, wakes });
beforeEach(async () => {
  await server.clear();
  bmdb = open();
});
afterEach(() => bmdb.close());

const add = async (change: Partial<MachineRow> = {}): Promise<MachineId> => {
  const row = machineRow(Date.now(), change);
  await insertMachine(server.sql, row);
  return row.machineId;
};
const scanned = async (): Promise<Cursor> =>
  (await bmdb.scan(SIGNAL)).cursor ?? expect.fail('no cursor');
const told = async (since: Cursor) => {
  const changes = (await bmdb.changesSince(since, SIGNAL)) ?? expect.fail('scan instead');
  return { ids: changes.machines.map((row) => row.machineId), next: changes.cursor! };
};
const move = `UPDATE machine_provided SET provider_location = $2 WHERE machine_id = $1`;

describe('the feed of changes', () => {
  it('misses no transaction that spans a reader’s look', async () => {
    const [early, late, rolledBack] = [await add(), await add(), await add()];
    const [writer, second] = [await server.sql.connect(), await server.sql.connect()];
    await writer.query('BEGIN');
    await writer.query(move, [early, 'la']);
    // Another transaction ends in between, so that ids end in another order than they were given.
    await second.query('BEGIN');
    await second.query(move, [late, 'la']);
    await second.query('COMMIT');
    const cursor = await scanned();
    const first = await told(cursor);
    expect(first.ids).not.toContain(early);
    const third = await told(first.next);
    await writer.query('COMMIT');
    expect((await told(cursor)).ids).toContain(early);
    expect((await told(first.next)).ids).toContain(early);
    const { ids, next } = await told(third.next);
    expect(ids).toContain(early);
    expect((await told(next)).ids).toEqual([]);

    await writer.query('BEGIN');
    await writer.query(move, [rolledBack, 'la']);
    await writer.query('ROLLBACK');
    expect((await told(next)).ids).toEqual([]);
    writer.release();
    second.release();
  });

  it('names each machine of a statement once, and none twice in an answer', async () => {
    const ids = [await add(), await add()];
    const { next } = await told(await scanned());
    for (const place of ['a', 'b']) {
      await server.sql.query(
        `UPDATE machine_provided SET provider_location = $2 WHERE machine_id = ANY ($1::uuid[])`,
        [ids, place],
      );
    }
    const lines = await server.sql.query(
      `SELECT 1 FROM machine_changes WHERE machine_id = ANY ($1::uuid[])
         AND xid >= $2::text::xid8`,
      [ids, next.split(' ')[1]],
    );
    expect(lines.rowCount).toBe(4);
    expect((await told(next)).ids.toSorted()).toEqual(ids.toSorted());
  });

  it('returns nothing after a crash has emptied it, until it starts again', async () => {
    const id = await add();
    const cursor = await scanned();
    // PostgreSQL does this to unlogged tables in a recovery.
    const unlogged = await server.sql.query<{ name: string }>(
      `SELECT relname AS name FROM pg_class WHERE relpersistence = 'u' AND relkind = 'r' ORDER BY 1`,
    );
    expect(unlogged.rows.map(({ name }) => name)).toEqual(['change_feed', 'machine_changes']);
    await server.sql.query(`TRUNCATE change_feed, machine_changes`);
    await server.sql.query(move, [id, 'la']);
    expect(await bmdb.changesSince(cursor, SIGNAL)).toBeNull();
    const young = await scanned();
    expect(await bmdb.changesSince(cursor, SIGNAL)).toBeNull();
    await server.sql.query(move, [id, 'sf']);
    expect((await told(young)).ids).toEqual([id]);
  });

  it('is not trusted from another server with higher transaction numbers', async () => {
    const id = await add();
    const [era] = (await scanned()).split(' ');
    await server.sql.query(move, [id, 'la']);
    const ahead = `${era} 99999999999` as Cursor;
    expect(await bmdb.changesSince(ahead, SIGNAL)).toBeNull();
    // As after the restore of a dump: trimmed up to a position that this server has not reached.
    await server.sql.query(`UPDATE change_feed SET trimmed_xid = '99999999998'`);
    const young = await scanned();
    expect(young.split(' ')[0]).not.toBe(era);
    expect(await bmdb.changesSince(ahead, SIGNAL)).toBeNull();
    await server.sql.query(move, [id, 'sf']);
    expect((await told(young)).ids).toEqual([id]);
  });

  it('repeats changes while an older transaction is open, and no longer', async () => {
    const ids = [await add(), await add()];
    let { next } = await told(await scanned());
    const writer = await server.sql.connect();
    await writer.query('BEGIN');
    await writer.query('SELECT pg_current_xact_id()');
    for (const count of [1, 2, 2]) {
      await server.sql.query(move, [ids[count - 1], 'la']);
      const changes = await told(next);
      expect(changes.ids.toSorted()).toEqual(ids.slice(0, count).toSorted());
      next = changes.next;
    }
    await writer.query('ROLLBACK');
    writer.release();
    expect((await told((await told(next)).next)).ids).toEqual([]);
  });

  it('is trimmed of old entries, except those that an open transaction may hide', async () => {
    const id = await add();
    await scanned();
    const writer = await server.sql.connect();
    await writer.query('BEGIN');
    await writer.query(move, [id, 'la']);
    await server.sql.query(move, [await add(), 'la']);
    await server.sql.query(`UPDATE machine_changes SET at = at - interval '6 minutes'`);
    const old = await scanned();
    await bmdb.sweep();
    const left = () => server.sql.query(`SELECT 1 FROM machine_changes`).then((r) => r.rowCount);
    expect(await left()).toBeGreaterThan(0);
    await writer.query('COMMIT');
    writer.release();
    expect((await told(old)).ids).toContain(id);
    await server.sql.query(`UPDATE machine_changes SET at = at - interval '6 minutes'`);
    const young = await scanned();
    await bmdb.sweep();
    expect(await left()).toBe(0);
    expect(await bmdb.changesSince(old, SIGNAL)).toBeNull();
    expect((await told(young)).ids).toEqual([]);
  });
});

describe('a scan in pages', () => {
  it('reads 10 001 machines in the same order as one query', async () => {
    await server.sql.query(
      `INSERT INTO machines SELECT gen_random_uuid() FROM generate_series(1, 10001)`,
    );
    await server.sql.query(
      `INSERT INTO machine_provided (machine_id, provider, provider_id)
       SELECT machine_id, 'metal', machine_id::text FROM machines`,
    );
    await server.sql.query(
      `INSERT INTO work_backoff (machine_id, process, until, cause)
       SELECT machine_id, p.process, now(), 'x' FROM machines TABLESAMPLE BERNOULLI (20),
         unnest(ARRAY['ShepherdAgentStart', 'ShepherdRecovery']::process[]) AS p (process)`,
    );
    const { machines } = await bmdb.scan(SIGNAL);
    const ids = machines.map((row) => row.machineId);
    expect(ids).toEqual(ids.toSorted());
    expect(new Set(ids).size).toBe(10_001);
    const client = await server.sql.connect();
    const named = await readMachines(queriesOf(client, { doing: 'read' }), ids);
    client.release();
    expect(machines).toEqual(named.toSorted((a, b) => (a.machineId < b.machineId ? -1 : 1)));
  });

  it('makes one query per page, all in one snapshot', async () => {
    await server.sql.query(
      `INSERT INTO machines SELECT gen_random_uuid() FROM generate_series(1, 500)`,
    );
    await server.sql.query(
      `INSERT INTO machine_provided (machine_id, provider, provider_id, provider_location)
       SELECT machine_id, 'metal', machine_id::text, 'ny' FROM machines`,
    );
    const client = await server.sql.connect();
    await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
    const inner = queriesOf(client, { doing: 'read' });
    let pages = 0;
    const rows = async (...given: Parameters<Queries['rows']>) => {
      if ((given[0] as unknown) !== statements.nextOfFleet) throw new Error('another statement');
      pages += 1;
      const page = await inner.rows(...given);
      await add();
      await server.sql.query(`UPDATE machine_provided SET provider_location = 'elsewhere'`);
      return page;
    };
    const machines = await readAllMachines({ ...inner, rows: rows as Queries['rows'] });
    await client.query('COMMIT');
    client.release();
    expect(pages).toBe(3);
    expect(machines.map((row) => row.provided?.location)).toEqual(Array(500).fill('ny'));
  });
});

describe('values that this program does not know', () => {
  const statusOf = async (id: MachineId) =>
    (await bmdb.scan(SIGNAL)).machines.find((row) => row.machineId === id);
  const learn = (type: string) =>
    server.sql.query(`ALTER TYPE ${type} ADD VALUE IF NOT EXISTS 'New'`);

  it.each([
    ['provider_status', `UPDATE machine_provided SET provider_status = 'New'`, 'provider status'],
    ['quarantine_kind', `UPDATE machine_quarantined SET kind = 'New'`, 'quarantine kind'],
    [
      'machine_os_installation_result',
      `UPDATE machine_os_installation_report SET os_installation_result = 'New'`,
      'installation result',
    ],
    ['process', `UPDATE work_backoff SET process = 'New'`, 'process'],
    ['process', `UPDATE work SET process = 'New'`, 'process'],
  ])('in %s make one machine unreadable, with advice: %s', async (type, update, what) => {
    await learn(type);
    const other = await add();
    const id = await add({
      ...installing([1, 1, 'Error']),
      quarantine: { kind: 'needsHuman', reason: 'x', untilMs: null, cause: null },
      backoffs: [{ process: 'UnitTest1', untilMs: 0, cause: 'x', lastIntervalSeconds: null }],
    });
    await (await openOn(bmdb)).claim('ShepherdAccess', id);
    expect((await statusOf(id))?.unreadable).toBeUndefined();
    const cursor = await scanned();
    await server.sql.query(`${update} WHERE machine_id = $1`, [id]);
    const text = `this program does not know ${what} "New" of machine ${id}; upgrade it`;
    expect(await statusOf(id)).toMatchObject({ unreadable: text });
    expect((await statusOf(other))?.unreadable).toBeUndefined();
    expect((await bmdb.readMachine(id, SIGNAL)).row?.unreadable).toBe(text);
    const changes = await bmdb.changesSince(cursor, SIGNAL);
    expect(changes?.machines.find((row) => row.machineId === id)?.unreadable).toBe(text);
  });
});

describe('notifications of changes', () => {
  /** Ends every connection for wakes, and returns their number. */
  const cut = async () => {
    const { rowCount } = await server.sql.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
       WHERE application_name = 'shepherd wakes' AND datname = current_database()`,
    );
    return rowCount;
  };
  const hear = (wakes$: Observable<Wake>) => {
    const heard: Wake[] = [];
    const subscription = wakes$.subscribe((wake) => heard.push(wake));
    return { heard, end: () => subscription.unsubscribe() };
  };

  it('return after a cut connection and report a loss', async () => {
    const { heard, end } = hear(bmdb.wakes$);
    await vi.waitUntil(() => heard.length === 1, PATIENCE);
    expect(heard).toEqual(['changed']);
    const reconnected = () => heard.filter((wake) => wake === 'reconnected').length;
    for (const times of [1, 2]) {
      expect(await cut()).toBe(1);
      await vi.waitUntil(() => reconnected() === times, PATIENCE);
    }
    heard.length = 0;
    await add();
    await vi.waitUntil(() => heard.includes('changed'), PATIENCE);
    end();
  });

  it('share one connection, which ends with the last reader', async () => {
    const readers = [hear(bmdb.wakes$), hear(bmdb.wakes$)];
    await vi.waitUntil(() => readers.every(({ heard }) => heard.length > 0), PATIENCE);
    const listening = async () => {
      const { rowCount } = await server.sql.query(
        `SELECT 1 FROM pg_stat_activity WHERE application_name = 'shepherd wakes' AND datname = current_database()`,
      );
      return rowCount;
    };
    expect(await listening()).toBe(1);
    for (const { end } of readers) end();
    await vi.waitUntil(async () => (await listening()) === 0, PATIENCE);
  });

  it('need no connection where they are off', async () => {
    const polling = open('poll');
    const listener = hear(bmdb.wakes$);
    const heard: unknown[] = [];
    polling.wakes$.subscribe({
      next: (wake) => heard.push(wake),
      complete: () => heard.push('end'),
    });
    await vi.waitUntil(() => listener.heard.length === 1, PATIENCE);
    await add();
    await vi.waitUntil(() => listener.heard.length > 1, PATIENCE);
    expect(heard).toEqual([]);
    expect(await cut()).toBe(1);
    listener.end();
    await polling.close();
    expect(heard).toEqual(['end']);
  });

  it('carry no payload that is read', async () => {
    const { heard, end } = hear(bmdb.wakes$);
    await vi.waitUntil(() => heard.length === 1, PATIENCE);
    const client = new pg.Client({ connectionString: server.url });
    await client.connect();
    await client.query(`SELECT pg_notify('shepherd_wake', 'reconnected')`);
    await vi.waitUntil(() => heard.length === 2, PATIENCE);
    expect(heard).toEqual(['changed', 'changed']);
    await client.end();
    end();
  });
});
