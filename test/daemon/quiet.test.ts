import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { NEVER } from 'rxjs';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { systemClock, systemRandom } from '../../src/adapters/clock/system-clock.ts';
import { silentLog } from '../../src/adapters/log/port.ts';
import { parseConfig } from '../../src/config.ts';
import { startDaemon, type Daemon } from '../../src/daemon/daemon.ts';
import { realPorts } from '../../src/daemon/real-ports.ts';
import { insertMachine, startPgServer, type PgServer } from '../adapters/bmdb/pg/pg-harness.ts';
import { machineRow } from '../contracts/bmdb-rows.ts';
import { createMemProvider, MEMORY_DRIVERS } from '../doubles/mem-provider.ts';
import { PATIENCE } from '../support/patience.ts';
import { startWireCount, type WireCount } from '../support/wire-count.ts';

const MACHINES = 20;

let server: PgServer;
let wire: WireCount;
let daemon: Daemon;
const dir = mkdtempSync(path.join(tmpdir(), 'shepherd-quiet-'));
beforeAll(async () => {
  server = await startPgServer();
  await server.clear();
  wire = await startWireCount(server.url);
  const now = Date.now();
  for (let count = 0; count < MACHINES; count += 1) {
    await insertMachine(server.sql, machineRow(now));
  }
  // So that the one free slot stays free.
  await server.sql.query(
    `INSERT INTO provider_holds (provider, kind, key, until, level, amount, cause)
     VALUES ('spare', 'quota', 'machines', now() + interval '1 day', 1, 0, 'test')`,
  );
  const provider = createMemProvider(
    {
      ...{ devicePrefix: 'quiet-', instanceSetId: 'quiet-fleet-000000000000001' },
      ...{ reservations: 1, provisioningMs: 0, latencyMs: 0 },
    },
    { clock: systemClock, random: systemRandom },
  );
  const real = await realPorts({ version: 'test', log: silentLog });
  daemon = await startDaemon({
    config: parseConfig(
      {
        database: { url: '${TEST_DATABASE}' },
        ssh: { keyPath: path.join(dir, 'ssh-key'), hostKeyPolicy: 'insecure' },
        agentServer: { listen: '127.0.0.1:0', devCertificates: { dir } },
        console: { listen: '127.0.0.1:0' },
        providers: { spare: { driver: 'memory', instanceSetId: 'quiet-fleet-000000000000001' } },
        provisioner: { reconcilerRate: '200ms' },
        mirror: { scanInterval: '1h', pollInterval: '300ms', listInterval: '200ms' },
      },
      { env: { TEST_DATABASE: wire.url }, baseDirectory: dir },
      { providers: MEMORY_DRIVERS },
    ),
    ports: {
      ...real,
      drivers: new Map([[provider.driver.name, provider.driver]]),
      openAgentServer: async () => ({
        server: {
          address: '127.0.0.1:1',
          heard$: NEVER,
          isTakingIn: () => true,
          present: () => undefined,
          close: async () => undefined,
        },
        caCertificate: () => new Uint8Array(0),
        notAfterMs: () => null,
        renewCertificate: async () => undefined,
      }),
    },
    version: 'test',
    tuning: { sweepMs: 200, assessMs: 3_600_000 },
  });
  await vi.waitUntil(() => daemon.parts.mirror.facts().size > MACHINES, PATIENCE);
});
afterAll(async () => {
  await daemon.stop();
  await wire.close();
  await server.stop();
  rmSync(dir, { recursive: true, force: true });
});

/** Statements that repeat while the fleet is idle, besides heartbeats and the guard's. */
const QUIET: ReadonlySet<string> = new Set([
  'LISTEN shepherd_wake',
  'changes',
  'session-poke',
  'sweep-due',
  'sweep-trim-events',
  'sweep-trim-history',
  'sweep-trim-logs',
]);
/** So many of these in a row: rounds and listings come more often. */
const OFTEN = { changes: 10, 'sweep-due': 5, 'session-poke': 1 };

test('limits an idle fleet to polls, pokes and a look of the janitor', async () => {
  const counts = new Map<string, number>();
  const isEnough = () =>
    Object.entries(OFTEN).every(([name, often]) => (counts.get(name) ?? 0) >= often);
  await vi.waitUntil(() => {
    const { byName, syncs, statements } = wire.take();
    for (const [name, { count }] of Object.entries(byName)) {
      counts.set(name, (counts.get(name) ?? 0) + count);
    }
    // Statements of the start are not idle yet; nor is a transaction of several statements.
    const isQuiet = syncs === statements && Object.keys(byName).every((name) => QUIET.has(name));
    if (!isQuiet) counts.clear();
    return isEnough();
  }, PATIENCE);
  expect([...counts.keys()].filter((name) => !QUIET.has(name))).toEqual([]);
});
