import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test, vi } from 'vitest';
import { firstLine, shepherd, type Started } from './commands.ts';

const MACHINES = 10;
const KILLS = 3;

interface World {
  readonly url: string;
  readonly adminUrl: string;
  readonly projectId: string;
  readonly tokens: { readonly project: string; readonly admin: string };
}
interface Shown {
  readonly slot: string;
  readonly state: string;
  readonly substate: string;
  readonly providerId: string | null;
  readonly machineId: string | null;
}

const dir = mkdtempSync(join(tmpdir(), 'shepherd-crash-'));
const running: Started[] = [];
const start = (...args: string[]) => {
  const started = shepherd(args);
  running.push(started);
  return started;
};
const stop = async ({ child, ended }: Started, signal: NodeJS.Signals) => {
  child.kill(signal);
  return ended;
};
afterEach(async () => {
  for (const each of running.splice(0).reverse()) await stop(each, 'SIGINT');
  rmSync(dir, { recursive: true, force: true });
});

test('a daemon that is killed again and again loses, doubles and locks nothing', async () => {
  const fakequinix = start(
    ...['fakequinix', '--machines', '--reservations', String(MACHINES)],
    ...['--state', join(dir, 'world', 'state.json')],
  );
  const world = JSON.parse(await firstLine(fakequinix)) as World;
  const [agents, page] = [await freePort(), await freePort()];
  const config = writeConfig(world, agents, page);

  for (let kill = 0; kill < KILLS; kill += 1) {
    const daemon = start('run', '--config', config);
    await progress(daemon, kill);
    await stop(daemon, 'SIGKILL');
  }
  const survivor = start('run', '--config', config);
  const machines = await vi.waitFor(
    async () => {
      const shown = await machinesOn(page);
      const well = shown.filter((m) => m.state === 'Running' && m.substate === 'healthy');
      expect(well).toHaveLength(MACHINES);
      return well;
    },
    { timeout: 90_000, interval: 250 },
  );

  const devices = new Set(machines.map((machine) => machine.providerId));
  expect(devices.size, 'every machine has a device of its own').toBe(MACHINES);
  expect(new Set(machines.map((machine) => machine.machineId)).size).toBe(MACHINES);
  const state = (await admin(world, 'state')) as { devices: Record<string, { id: string }> };
  expect(
    Object.values(state.devices)
      .map((device) => device.id)
      .sort(),
    'no device was leaked',
  ).toEqual([...devices].sort());
  expect(await admin(world, 'invariants')).toEqual({ violations: [] });
  expect((await stop(survivor, 'SIGTERM')).code).toBe(0);
}, 240_000);

/** How far a daemon gets before it is killed; each time further into the bring-up. */
const MILESTONES = ['machine created', 'agent started', 'agent started'];

async function progress({ child, ended }: Started, kill: number): Promise<void> {
  const milestone = MILESTONES[kill]!;
  const after = 1 + Math.floor(Math.random() * 4);
  const seen = new Promise<void>((resolve) => {
    let count = 0;
    child.stderr!.on('data', (chunk: Buffer) => {
      count += chunk.toString().split(milestone).length - 1;
      if (count >= after) resolve();
    });
  });
  const failed = ended.then(({ code, stderr }): never => {
    throw new Error(`the daemon ended by itself with ${code}: ${stderr}`);
  });
  await Promise.race([seen, failed]);
}

async function machinesOn(port: number): Promise<readonly Shown[]> {
  const answer = await fetch(`http://127.0.0.1:${port}/api/v1/machines?limit=500`);
  return ((await answer.json()) as { machines: Shown[] }).machines;
}

async function admin({ adminUrl, tokens }: World, what: string): Promise<unknown> {
  const answer = await fetch(`${adminUrl}/${what}`, { headers: { 'x-fake-admin': tokens.admin } });
  return answer.json();
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, 'close');
  return port;
}

function writeConfig({ url, projectId, tokens }: World, agents: number, page: number): string {
  writeFileSync(join(dir, 'token'), tokens.project, { mode: 0o600 });
  const path = join(dir, 'shepherd.yaml');
  const backoff = { initial: '1s', exponent: 1.2, maximum: '5s' };
  // JSON is YAML.
  const config = {
    database: { embedded: { dataDir: 'postgres' } },
    providers: {
      metal: {
        driver: 'equinix',
        baseUrl: url,
        token: 'file:token',
        username: 'test',
        projectId,
        instanceSetId: 'crash-tests-000000000000001',
        devicePrefix: 'shepherd-crash-',
        sshKeyLabel: 'shepherd-crash',
        apiRate: '5ms',
        reservationCacheTimeout: '1s',
        sshPortFromCustomdata: true,
        probeGap: '200ms',
        settle: '2s',
      },
    },
    provisioner: { maxMachines: MACHINES, reconcilerRate: '1s', deviceCreationRate: '20ms' },
    agent: {
      heartbeatPeriod: '1s',
      heartbeatDeadline: '10s',
      firstHeartbeatDeadline: '30s',
      endpoint: `127.0.0.1:${agents}`,
    },
    ssh: { keyPath: 'ssh-key' },
    agentServer: { listen: `127.0.0.1:${agents}`, devCertificates: { dir: 'certificates' } },
    initializer: { backoff },
    recoverer: { backoff, ladder: { rebooting: { patience: '20s' } }, pollInterval: '250ms' },
    mirror: { scanInterval: '5s', listInterval: '1s' },
    console: { listen: `127.0.0.1:${page}` },
  };
  writeFileSync(path, JSON.stringify(config));
  return path;
}
