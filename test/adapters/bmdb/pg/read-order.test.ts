import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { createMirrorRows } from '../../../../src/actors/mirror/rows.ts';
import type { Bmdb } from '../../../../src/adapters/bmdb/port.ts';
import { systemClock } from '../../../../src/adapters/clock/system-clock.ts';
import type { MachineId } from '../../../../src/domain/ids.ts';
import { finish } from '../../../../src/lib/steps.ts';
import { machineRow } from '../../../contracts/bmdb-rows.ts';
import { insertMachine, openPgBmdb, usePgServer } from './pg-harness.ts';
import { PATIENCE } from '../../../support/patience.ts';
import { startRelay } from '../../../support/relay.ts';

const SIGNAL = new AbortController().signal;
const MOVE = `UPDATE machine_provided SET provider_location = $2 WHERE machine_id = $1`;

const server = usePgServer();
let bmdb: Bmdb;
const open = (url: string): Bmdb => openPgBmdb({ url, wakes: 'poll' });
beforeEach(async () => {
  await server.clear();
  bmdb = open(server.url);
});
afterEach(() => bmdb.close());

const add = async (): Promise<MachineId> => {
  const row = machineRow(Date.now());
  await insertMachine(server.sql, row);
  return row.machineId;
};

/**
 * Passes everything on, except that it holds back the commands after a reading BEGIN while `armed`.
 */
async function startHoldingProxy(target: string) {
  const holding = { armed: false, release: null as (() => void) | null };
  const relay = await startRelay(target, (client, dial) => {
    const upstream = dial();
    let hasBegun = false;
    client.on('data', (data) => {
      if (!hasBegun || !holding.armed) upstream.write(data);
      else holding.release = () => upstream.write(data);
      hasBegun = data.includes('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
    });
    upstream.on('data', (data) => client.write(data));
  });
  return { ...relay, holding };
}

describe('versions of reads', () => {
  it('follow the rows that the reads saw, even if now() gives another order', async () => {
    const proxy = await startHoldingProxy(server.url);
    const slow = open(proxy.url);
    const id = await add();
    const rows = createMirrorRows(systemClock);
    const scan = await slow.scan(SIGNAL);
    finish(rows.takeScan(scan, systemClock.monotonic()));

    // The mirror reads the rows of changed machines only, in a transaction.
    await server.sql.query(MOVE, [id, 'sf']);
    const beganAtMs = systemClock.monotonic();
    proxy.holding.armed = true;
    const reading = slow.changesSince(scan.cursor!, SIGNAL);
    const release = await vi.waitUntil(() => proxy.holding.release, PATIENCE);
    // The transaction has begun, but has no snapshot yet.
    const { nowMs } = await bmdb.readMachine(id, SIGNAL);
    const readAtMs = systemClock.monotonic();
    const single = await vi.waitUntil(async () => {
      const read = await bmdb.readMachine(id, SIGNAL);
      return read.nowMs > nowMs && read;
    }, PATIENCE);
    await server.sql.query(MOVE, [id, 'la']);
    release();
    const changes = (await reading) ?? expect.fail('scan instead');
    expect(changes.nowMs).toBeLessThan(single.nowMs);
    expect(changes.version).toBeGreaterThan(single.version);

    rows.takeReading(id, single, readAtMs);
    expect([...rows.takeChanges(changes, beganAtMs)]).toEqual([id]);
    expect(rows.get(id)?.provided?.location).toBe('la');
    rows.takeReading(id, single, readAtMs);
    expect(rows.get(id)?.provided?.location).toBe('la');
    proxy.holding.armed = false;
    await slow.close();
    await proxy.close();
  });

  it('grow with each transaction that wrote, in any order of their ends, and only then', async () => {
    const ids: string[] = [];
    for (let count = 0; count < 4; count += 1) ids.push(await add());
    let last = -1;
    const read = async () => {
      const { version, machines } = await bmdb.scan(SIGNAL);
      const places = machines.map(({ machineId, provided }) => [machineId, provided?.location]);
      const seen = JSON.stringify(places);
      const single = await bmdb.readMachine(machines[0]!.machineId, SIGNAL);
      expect(single.version).toBeGreaterThanOrEqual(version);
      const grew = version > last;
      expect(version).toBeGreaterThanOrEqual(last);
      last = single.version;
      return { seen, grew };
    };
    const writers = await Promise.all([1, 2, 3].map(() => server.sql.connect()));
    onTestFinished(() => writers.forEach((writer) => writer.release(true)));
    const [first, second, third] = writers;
    let before = (await read()).seen;
    const ended = async (end: () => Promise<unknown>, changes: boolean) => {
      await end();
      const { seen, grew } = await read();
      expect(seen !== before).toBe(changes);
      if (changes) expect(grew).toBe(true);
      before = seen;
    };
    await first!.query('BEGIN');
    await first!.query(MOVE, [ids[0], 'a']);
    await second!.query('BEGIN');
    // More subtransactions than the server keeps in memory (64), some of them rolled back.
    for (let at = 0; at < 80; at += 1) {
      await second!.query(`SAVEPOINT s${at}`);
      await second!.query(MOVE, [ids[1], `b${at}`]);
      if (at % 7 === 3) await second!.query(`ROLLBACK TO SAVEPOINT s${at}`);
      if (at % 20 === 5) await ended(async () => undefined, false);
    }
    await third!.query('BEGIN');
    await third!.query(MOVE, [ids[2], 'c']);
    await ended(() => server.sql.query(MOVE, [ids[3], 'd']), true);
    await ended(() => second!.query('COMMIT'), true);
    await ended(() => third!.query('ROLLBACK'), false);
    await ended(() => server.sql.query(MOVE, [ids[3], 'e']), true);
    await ended(() => first!.query('COMMIT'), true);
    const [one, two] = [await bmdb.scan(SIGNAL), await bmdb.scan(SIGNAL)];
    expect(two.machines).toEqual(one.machines);
  });

  it('sort concurrent reads by the rows that they saw', async () => {
    const ids = (await Promise.all([add(), add()])).toSorted();
    const found: { version: number; places: number[] }[] = [];
    let isReading = true;
    const reader = async () => {
      for (let count = 0; count < 15; count += 1) {
        const { version, machines } = await bmdb.scan(SIGNAL);
        found.push({ version, places: machines.map((row) => Number(row.provided!.location)) });
      }
    };
    for (const id of ids) await server.sql.query(MOVE, [id, 0]);
    const writer = async (id: string) => {
      const client = await server.sql.connect();
      for (let place = 1; isReading; place += 1) {
        await client.query('BEGIN');
        await client.query(MOVE, [id, place]);
        await client.query('COMMIT');
      }
      client.release();
    };
    const writers = ids.map(writer);
    await Promise.all([reader(), reader(), reader()]);
    isReading = false;
    await Promise.all(writers);
    const byVersion = found.toSorted((a, b) => a.version - b.version);
    expect(new Set(found.map(({ version }) => version)).size).toBeGreaterThan(10);
    for (const [at, { version, places }] of byVersion.slice(1).entries()) {
      const one = byVersion[at]!;
      for (const [of, place] of places.entries()) {
        expect(place).toBeGreaterThanOrEqual(one.places[of]!);
      }
      if (version === one.version) expect(places).toEqual(one.places);
    }
  });
});
