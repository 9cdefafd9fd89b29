import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { hostname } from 'node:os';
import { createServer, type AddressInfo } from 'node:net';
import { NEVER } from 'rxjs';
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { silentLog } from '../../src/adapters/log/port.ts';
import type { AgentServer } from '../../src/adapters/agents/port.ts';
import {
  openSimWorld,
  parseSimConfig,
  simInput,
  type SimWorld,
} from '../../emulators/sim/world.ts';
import { SIM_TUNING } from '../../emulators/sim/sim.ts';
import { startDaemon } from '../../src/daemon/daemon.ts';
import { realPorts } from '../../src/daemon/real-ports.ts';
import type { HeartbeatStore } from '../../src/domain/heartbeat.ts';
import { startPgServer, type PgServer } from '../adapters/bmdb/pg/pg-harness.ts';
import { recordingLog, type RecordingLog } from '../doubles/recording-log.ts';
import { PATIENCE } from '../support/patience.ts';
import { publicKeyLine } from '../adapters/provider/driver-stand.ts';

/** A whole daemon in this process; only the agents' listener is scripted. */
let server: PgServer;
let world: SimWorld;
beforeAll(async () => {
  [server, world] = await Promise.all([
    startPgServer(),
    openSimWorld({ machines: 1, log: silentLog }),
  ]);
});
afterAll(() => Promise.all([server.stop(), world.close()]));

let log: RecordingLog;
/** What was still open when the agent server was closed. */
let atItsClose: { sessions: number; consoleAnswers: boolean; databaseAnswers: boolean }[];
let consoleUrl: string;
let itsStore: HeartbeatStore;
beforeEach(() => {
  [log, atItsClose, consoleUrl] = [recordingLog(), [], 'http://127.0.0.1:1'];
});

const answers = (path: string) =>
  fetch(new URL(path, consoleUrl)).then(
    ({ status }) => status,
    () => null,
  );
const playedAgents = (store: HeartbeatStore): AgentServer => ({
  address: '127.0.0.1:1',
  heard$: NEVER,
  isTakingIn: () => true,
  present: () => undefined,
  async close() {
    itsStore = store;
    const { rows } = await server.sql.query<{ n: number }>(
      'SELECT count(*)::int AS n FROM sessions',
    );
    const consoleAnswers = (await answers('/livez')) !== null;
    const databaseAnswers = await store.withoutHardware!().then(
      () => true,
      () => false,
    );
    atItsClose.push({ sessions: rows[0]!.n, consoleAnswers, databaseAnswers });
  },
});
const start = async (listen = '127.0.0.1:0', change: Record<string, string> = {}) => {
  const known = simInput(world);
  const equinix = known.providers['equinix']!;
  const input = {
    ...known,
    providers: { equinix: { ...equinix, ...change } },
    database: { url: '${TEST_DATABASE}' },
    console: { listen },
  };
  const daemon = await startDaemon({
    config: parseSimConfig(world, input, { TEST_DATABASE: server.url, WRONG: 'wrong' }),
    ports: {
      ...(await realPorts({ version: '0.0.0', log })),
      openAgentServer: async (_, { store }) => ({
        server: playedAgents(store),
        caCertificate: () => new Uint8Array(0),
        notAfterMs: () => null,
        renewCertificate: async () => undefined,
      }),
    },
    version: '0.0.0',
    tuning: TUNING,
  });
  ({ consoleUrl } = daemon);
  return daemon;
};
/** Work in progress may not delay a stop here. */
const TUNING = { ...SIM_TUNING, drainMs: 500 };
const WAIT = { ...PATIENCE, interval: 50 };
/** The agent server's database pool answers nobody any more. */
const databaseIsLetGo = () =>
  expect(itsStore.withoutHardware!()).rejects.toThrow(/after calling end/);

test('stops the intake of heartbeats, then the session that stores them, the console and the database', async () => {
  const daemon = await start();
  await vi.waitFor(async () => expect(await answers('/readyz')).toBe(200), WAIT);
  expect(log.count('recovery may reinstall machines, which erases their disks')).toBe(1);
  await daemon.reload();
  expect(log.count('the provider was reloaded')).toBe(1);
  const { rows } = await server.sql.query(
    'SELECT session_component_name AS name, session_runtime_info AS runtime FROM sessions',
  );
  expect(rows).toEqual([{ name: 'shepherd', runtime: `host ${hostname()}` }]);
  const before = log.lines.length;
  await Promise.all([daemon.stop(), daemon.stop()]);
  // The second time in case there was no session to drain.
  expect(atItsClose).toEqual([
    { sessions: 1, consoleAnswers: true, databaseAnswers: true },
    { sessions: 0, consoleAnswers: false, databaseAnswers: true },
  ]);
  expect([log.count('stopping'), log.count('stopped')]).toEqual([1, 1]);
  await daemon.stopped;
  await databaseIsLetGo();
  expect(log.lines.slice(before).filter(({ level }) => level === 'error')).toEqual([]);
});

test('closes what it opened when the daemon cannot start', async () => {
  const other = createServer().listen(0, '127.0.0.1');
  await once(other, 'listening');
  const { port } = other.address() as AddressInfo;
  await expect(start(`127.0.0.1:${port}`)).rejects.toThrow(/console\.listen/);
  other.close();
  expect(atItsClose).toEqual([{ sessions: 0, consoleAnswers: false, databaseAnswers: true }]);
  await databaseIsLetGo();
});

test('refuses to start when a provider refuses its token', async () => {
  await expect(start('127.0.0.1:0', { token: '${WRONG}' })).rejects.toThrow(
    /^provider \S+ refused our token/,
  );
  expect(atItsClose).toEqual([]);
});

test('starts although a provider holds a foreign key with our label, and logs that', async () => {
  const settings = parseSimConfig(world, simInput(world), {}).providers['equinix'] as never as {
    readonly [key in 'baseUrl' | 'projectId']: string;
  } & { readonly token: { read(): string } };
  const url = `${settings.baseUrl}/projects/${settings.projectId}/ssh-keys`;
  const headers = { 'X-Auth-Token': settings.token.read(), 'Content-Type': 'application/json' };
  const body = JSON.stringify({ label: 'taken', key: publicKeyLine(9) });
  expect((await fetch(url, { method: 'POST', headers, body })).status).toBe(201);
  const daemon = await start('127.0.0.1:0', { sshKeyLabel: 'taken' });
  const told = log.lines.filter(({ message }) => message.includes('not ready for creations'));
  expect(told[0]).toMatchObject({
    level: 'error',
    fields: { cause: expect.stringContaining('ssh.previousKeyPaths') },
  });
  await daemon.stop();
});

test('refuses to run the thread of the agent server as a program', async () => {
  const child = spawn(process.execPath, ['src/daemon/agent-thread.ts'], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let said = '';
  child.stderr.on('data', (text: Buffer) => (said += text.toString()));
  const [code] = (await once(child, 'close')) as [number];
  expect(code).not.toBe(0);
  expect(said).toMatch(/runs as a thread of the daemon only/);
});
