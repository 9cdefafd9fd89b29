import { once } from 'node:events';
import { setTimeout } from 'node:timers/promises';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import pg from 'pg';
import { Subject } from 'rxjs';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import type { EmbeddedPostgres } from '../../../../src/adapters/bmdb/embedded/embedded-postgres.ts';
import { createDatabase, type Database } from '../../../../src/adapters/bmdb/pg/pool.ts';
import { statement } from '../../../../src/adapters/bmdb/pg/statement.ts';
import { createWakes } from '../../../../src/adapters/bmdb/pg/wake-signals.ts';
import type { Wake } from '../../../../src/adapters/bmdb/port.ts';
import { withClient } from '../../../../src/adapters/bmdb/schema/migrations.ts';
import { systemClock, systemRandom } from '../../../../src/adapters/clock/system-clock.ts';
import { silentLog } from '../../../../src/adapters/log/port.ts';
import { Denied, NotWritable, Unreachable } from '../../../../src/domain/errors.ts';
import { startTcpProxy } from '../../../faults/tcp-proxy.ts';
import { PATIENCE } from '../../../support/patience.ts';
import { startTestPostgres } from '../../../support/postgres.ts';

/** Two real servers that share one role. */
let servers: readonly [EmbeddedPostgres, EmbeddedPostgres];
beforeAll(async () => {
  servers = await Promise.all([startTestPostgres(), startTestPostgres()]);
  for (const server of servers) {
    await asOwner(server, `CREATE ROLE failover LOGIN PASSWORD 'secret'`);
  }
});
afterAll(() => Promise.all(servers.map((server) => server.stop())));

async function asOwner({ ownerUrl }: EmbeddedPostgres, ...statements: string[]) {
  const owner = new pg.Client({ connectionString: ownerUrl });
  await owner.connect();
  try {
    for (const each of statements) await owner.query(each);
  } finally {
    await owner.end();
  }
}
const portOf = ({ url }: EmbeddedPostgres) => Number(new URL(url).port);
const ports = () => servers.map(portOf);

/** Like a demoted primary or a promoted standby. */
async function fence(server: EmbeddedPostgres, isReadOnly: boolean): Promise<void> {
  await asOwner(
    server,
    `ALTER SYSTEM SET default_transaction_read_only = ${isReadOnly ? 'on' : 'off'}`,
    'SELECT pg_reload_conf()',
  );
  const url = urlOf([portOf(server)]);
  await vi.waitFor(async () => {
    if (isReadOnly) await expect(look(url)).rejects.toThrow(NotWritable);
    else await look(url);
  }, PATIENCE);
}

const urlOf = (hosts: readonly number[], { password = 'secret' } = {}) =>
  `postgres://failover:${password}@${hosts.map((port) => `127.0.0.1:${port}`).join(',')}` +
  '/postgres?target_session_attrs=read-write';
const look = (url: string) =>
  withClient(url, 'look', async (client) => {
    const { rows } = await client.query<{ port: number }>('SELECT inet_server_port() AS port');
    return rows[0]!.port;
  });

const whichPort = statement({
  name: 'test-port',
  columns: { port: 'int4' },
  text: () => 'SELECT inet_server_port() AS port',
});

let database: Database | null = null;
function open(url: string, timeoutMs = 16_000, poolMax = 4): Database {
  database = createDatabase({
    ...{ url, timeoutMs, poolMax, clock: systemClock, random: systemRandom, log: silentLog },
  });
  return database;
}
const ask = (db: Database) =>
  db.transact({ doing: 'ask' }, async (q) => (await q.rows(whichPort, {}))[0]!.port);
const askOnce = async (db: Database) => (await db.once({ doing: 'ask' }, whichPort, {}))[0]!.port;

beforeEach(() => fence(servers[1], true));
afterEach(async () => {
  await database?.close();
  database = null;
  await fence(servers[0], false);
});

describe('a database URL with several hosts', () => {
  it('D12: skips a read-only server for transactions, statements and commands', async () => {
    const [writable, readOnly] = ports() as [number, number];
    const url = urlOf([readOnly, writable]);
    const db = open(url);
    expect(await Promise.all([ask(db), askOnce(db), look(url)])).toEqual(Array(3).fill(writable));
  });

  it('follows a failover, and the next one back', async () => {
    const db = open(urlOf(ports()));
    expect(await ask(db)).toBe(ports()[0]);
    for (const [to, from] of [servers, servers.toReversed()].map((pair) => pair.toReversed())) {
      await fence(to!, false);
      await fence(from!, true);
      await asOwner(
        from!,
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'failover'`,
      );
      await vi.waitFor(async () => expect(await ask(db)).toBe(portOf(to!)), PATIENCE);
    }
  });

  it('receives notifications from the other host after a failover', async () => {
    const heard: Wake[] = [];
    const stopped$ = new Subject<void>();
    createWakes({
      ...{ url: urlOf(ports()), mode: 'listen', timeoutMs: 16_000, stopped$ },
      ...{ clock: systemClock, random: systemRandom, log: silentLog },
    }).subscribe((wake) => heard.push(wake));
    await vi.waitFor(() => expect(heard).toEqual(['changed']), PATIENCE);
    await fence(servers[1], false);
    await fence(servers[0], true);
    await asOwner(
      servers[0],
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'failover'`,
    );
    await vi.waitFor(() => expect(heard).toEqual(['changed', 'reconnected']), PATIENCE);
    await asOwner(servers[1], 'NOTIFY shepherd_wake');
    await vi.waitFor(() => expect(heard).toEqual(['changed', 'reconnected', 'changed']), PATIENCE);
    stopped$.next();
  });

  it('is refused when all servers are read-only, and names each', async () => {
    await fence(servers[0], true);
    const failure = await ask(open(urlOf(ports()))).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(NotWritable);
    const [one, two] = ports();
    expect((failure as Error).cause).toMatchObject({
      message: expect.stringMatching(new RegExp(`:${one}/.*read-only; .*:${two}/.*read-only`)),
    });
  });
});

it('leaves a host that freezes, also when nobody waits any longer for the connection that finds out', async () => {
  const proxies = await Promise.all([0, 1].map(() => startTcpProxy(() => ports()[0]!)));
  const limitMs = 1_000;
  const db = open(urlOf(proxies.map(({ port }) => port)), limitMs, 1);
  await ask(db);
  proxies[0]!.hold();
  const settled = (call: Promise<number>) => call.catch(() => null);
  const first = settled(ask(db));
  await setTimeout(limitMs / 2);
  // It waits for the only connection, and gives up before the next one has found out.
  await settled(ask(db));
  await vi.waitUntil(() => settled(ask(db)), PATIENCE);
  await first;
  for (const proxy of proxies) await proxy.close();
});

describe('a host that does not answer', () => {
  let listener: Server;
  let sockets: Socket[];
  beforeEach(async () => {
    sockets = [];
    listener = createServer((socket) => void sockets.push(socket.on('error', () => undefined)));
    await once(listener.listen(0, '127.0.0.1'), 'listening');
  });
  afterEach(() => {
    for (const socket of sockets) socket.destroy();
    listener.close();
  });
  const silent = () => (listener.address() as AddressInfo).port;

  it('costs its time limit once, not per connection', async () => {
    const db = open(urlOf([silent(), ports()[0]!]), 2_000);
    expect(await ask(db)).toBe(ports()[0]);
    expect(await Promise.all([1, 2, 3].map(() => ask(db)))).toEqual(Array(3).fill(ports()[0]));
    expect(sockets).toHaveLength(1);
  });

  it('is skipped when it is down', async () => {
    const port = silent();
    listener.close();
    expect(await look(urlOf([port, ports()[0]!]))).toBe(ports()[0]);
    const failure = look(urlOf([port]));
    await expect(failure).rejects.toThrow(Unreachable);
  });

  // A standby whose directory was removed keeps its port until it notices, after a minute.
  it.each(['58P01', 'XX000', '53300', '57P01'])('is skipped if it answers %s', async (code) => {
    const text = `SFATAL\0VFATAL\0C${code}\0Mit is broken\0\0`;
    const head = Buffer.from([0x45, 0, 0, 0, text.length + 4]);
    listener.on('connection', (socket: Socket) => {
      socket.once('data', () => socket.end(Buffer.concat([head, Buffer.from(text)])));
    });
    const url = urlOf([silent(), ports()[0]!]);
    expect(await Promise.all([look(url), ask(open(url))])).toEqual(Array(2).fill(ports()[0]));
  });

  it('is not asked after another host refused the password', async () => {
    const url = urlOf([ports()[0]!, silent()], { password: 'wrong' });
    await expect(look(url)).rejects.toThrow(Denied);
    await expect(ask(open(url))).rejects.toThrow(Denied);
    expect(sockets).toEqual([]);
  });
});
