import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { spawn } from 'node:child_process';
import { connect } from 'node:net';
import { createInterface } from 'node:readline';
import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, expect, onTestFinished, test, vi } from 'vitest';
import { createDevCertificates } from '../../src/adapters/agents/tls-material.ts';
import { createCallbackClient } from '../../src/agent/callback-client.ts';
import { createClientIdentity, generateRawKeyPair } from '../../src/agent/keys.ts';
import { insertMachine } from '../adapters/bmdb/pg/pg-harness.ts';
import { machineRow } from '../contracts/bmdb-rows.ts';
import { startNotifySocket } from '../support/notify-socket.ts';
import { openTestDatabase } from '../support/test-database.ts';
import { shepherd } from './commands.ts';
import { WAIT } from './simulated-fleet.ts';

const dir = mkdtempSync(join(tmpdir(), 'shepherd-systemd-'));
afterAll(() => rmSync(dir, { recursive: true, force: true, maxRetries: 5 }));

/** A fleet whose database stays away. */
function writeConfig(more: object = {}): string {
  const file = join(dir, 'shepherd.yaml');
  const config = {
    database: { url: 'postgres://bmdb@127.0.0.1:1/bmdb' },
    ssh: { keyPath: join(dir, 'ssh-key') },
    agentServer: { listen: '127.0.0.1:0', devCertificates: { dir: join(dir, 'certificates') } },
    console: { listen: '127.0.0.1:0' },
    providers: {
      spare: {
        driver: 'static',
        instanceSetId: 'tests-sysd0-000000000000001',
        inventory: 'file:machines.json',
      },
    },
    log: { format: 'journal' },
    ...more,
  };
  writeFileSync(join(dir, 'machines.json'), '[]');
  writeFileSync(file, JSON.stringify(config));
  return file;
}

async function opens(address: string): Promise<true> {
  const socket = connect(Number(address.split(':').at(-1)), '127.0.0.1');
  await once(socket, 'connect');
  socket.destroy();
  return true;
}

test('V61 notifies systemd: ready with listeners though the database is away, alive unless the loop stands still, reloading, stopping', async () => {
  const socket = await startNotifySocket();
  onTestFinished(() => socket.close());
  const env = { NOTIFY_SOCKET: socket.path, WATCHDOG_USEC: '900000' };
  const { child, ended, said } = shepherd(['run', '--config', writeConfig()], env);
  onTestFinished(() => void child.kill('SIGKILL'));
  const count = (name: string) => socket.told.filter((each) => each[name] !== undefined).length;
  const becomes = (what: () => boolean) => said(what);

  await becomes(() => count('READY') === 1);
  expect(socket.told[0], 'the start goes on').toEqual({ EXTEND_TIMEOUT_USEC: '30000000' });
  const ready = socket.told.find((each) => each['READY'] !== undefined)!;
  expect(ready['STATUS']).toMatch(/^no session, so work stops: .*ECONNREFUSED.*; no machines/);
  const started = await said((log) =>
    log.split('\n').find((line) => /daemon started.*\}$/.test(line)),
  );
  expect(started, 'a severity that the journal reads').toMatch(/^<6>\{/);
  const { console: page, agents } = JSON.parse(started.slice(3)) as Record<string, string>;
  expect(await opens(new URL(page!).host)).toBe(true);
  expect(await opens(agents!)).toBe(true);

  await becomes(() => count('WATCHDOG') >= 3);
  child.kill('SIGSTOP');
  const sinceSign = () => performance.now() - socket.lastAt();
  await becomes(() => sinceSign() > 5 * 300);
  const still = count('WATCHDOG');
  child.kill('SIGCONT');
  await becomes(() => count('WATCHDOG') > still + 2);

  child.kill('SIGHUP');
  await becomes(() => count('READY') === 2);
  const at = (name: string) => socket.told.findLastIndex((each) => each[name] !== undefined);
  expect(socket.told[at('RELOADING')]!['MONOTONIC_USEC']).toMatch(/^\d{6,}$/);
  expect(at('READY')).toBeGreaterThan(at('RELOADING'));

  child.kill('SIGTERM');
  expect(await ended).toMatchObject({ code: 0 });
  expect(socket.told.slice(at('STOPPING'))).toContainEqual({ STOPPING: '1', STATUS: 'stopping' });
  expect(at('STOPPING')).toBeGreaterThan(at('READY'));
});

/** Like systemd: binds once, and passes the socket as first descriptor to each process. */
const HOLDER = `
import os, socket, subprocess, sys
held = socket.socket()
held.bind(("127.0.0.1", 0))
held.listen(512)
os.dup2(held.fileno(), 3, inheritable=True)
print(held.getsockname()[1], flush=True)
env = {**os.environ, "LISTEN_FDS": "1", "LISTEN_FDNAMES": "agents"}
for _ in range(2):
    child = subprocess.Popen(["sh", "-c", 'LISTEN_PID=$$ exec "$@"', "sh", *sys.argv[1:]], env=env, pass_fds=[3])
    print(child.pid, flush=True)
    child.wait()
`;
const AGENTS = 20;
/** Heartbeats per agent; half the agents continue while the daemon ends, half while it is away. */
const BEATS = 50;

/** The daemon's certificate files, their configuration, and the authority for agents. */
async function certify() {
  const { key, cert, caDer } = await createDevCertificates({ names: [] });
  const trust = new X509Certificate(caDer).toString();
  for (const [name, pem] of Object.entries({ key, cert, ca: trust }))
    writeFileSync(join(dir, `${name}.pem`), pem, { mode: 0o600 });
  const agent = { endpoint: '127.0.0.1:8080', endpointCaCertificatePath: 'ca.pem' };
  const files = { keyPath: 'key.pem', certificatePath: 'cert.pem' };
  return { trust, agent, agentServer: { listen: 'systemd:agents', ...files } };
}

/** Machines of the database, and the keys of their agents. */
async function startedAgents(ownerUrl: string) {
  const sql = new pg.Pool({ connectionString: ownerUrl, max: 1 });
  const agents = Array.from({ length: AGENTS }, () => {
    const key = generateRawKeyPair();
    const publicKey = Buffer.from(key.publicKey).toString('hex');
    const agentStarted = { atMs: Date.now(), publicKey, bootId: 'boot-1' };
    return { key, row: machineRow(Date.now(), { agentStarted }) };
  });
  for (const { row } of agents) await insertMachine(sql, row);
  await sql.end();
  return agents;
}

test('V63 a held socket: of 1,000 heartbeats over a restart none is refused, and none fails for good', async () => {
  const database = await openTestDatabase();
  onTestFinished(() => database.stop());
  const { trust, ...certified } = await certify();
  const url = { database: { url: '${TEST_DATABASE}' } };
  const file = writeConfig({ ...url, ...certified, roles: ['agent-server'] });
  const agents = await startedAgents(database.ownerUrl);
  const launcher = join(import.meta.dirname, '../../bin/shepherd.mjs');
  const command = [process.execPath, launcher, 'run', '--config', file];
  const holder = spawn('python3', ['-c', HOLDER, ...command], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, TEST_DATABASE: database.url },
  });
  onTestFinished(() => void holder.kill('SIGKILL'));
  const said: string[] = [];
  createInterface({ input: holder.stdout }).on('line', (each) => said.push(each));
  let log = '';
  holder.stderr.on('data', (chunk: Buffer) => (log += chunk.toString()));
  const starts = () => log.split('daemon started').length - 1;
  await vi.waitUntil(() => starts() === 1, WAIT);
  const [port, first] = said.map(Number) as [number, number];

  let answered = 0;
  const failures: string[] = [];
  const [ends, isAway] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const { signal } = new AbortController();
  const lanes = agents.map(async ({ key, row: { machineId } }, at) => {
    const identity = await createClientIdentity(key);
    const endpoint = { host: '127.0.0.1', port };
    const client = createCallbackClient({ endpoint, identity, trust, callTimeoutMs: 60_000 });
    for (let beat = 0; beat < BEATS;) {
      if (beat === BEATS / 2) await (at % 2 === 0 ? ends : isAway).promise;
      try {
        await client.heartbeat({ machineId, bootId: 'boot-1' }, signal);
        answered += 1;
        beat += 1;
      } catch (error) {
        failures.push((error as Error).message);
        // Like agents, which wait longer: a lasting failure ends the test by its time limit.
        await new Promise((resolve) => setTimeout(resolve, 250));
      }
    }
    client.close();
  });
  await vi.waitUntil(() => answered === (AGENTS * BEATS) / 2, WAIT);
  process.kill(first, 'SIGTERM');
  ends.resolve();
  await vi.waitUntil(() => said.length === 3, WAIT);
  isAway.resolve();
  await Promise.all(lanes);
  process.kill(Number(said[2]), 'SIGTERM');
  await once(holder, 'exit');
  expect(answered).toBe(1_000);
  expect(failures.filter((each) => each.includes('ECONNREFUSED'))).toEqual([]);
  expect(
    failures.length,
    `at most the call under way and one more: ${failures.join()}`,
  ).toBeLessThan(2 * AGENTS + 1);
});
