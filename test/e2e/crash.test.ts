import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test, vi } from 'vitest';
import { takeFreePort } from '../../src/simulator/hosts/free-port.ts';
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
  const ports = new Set<number>();
  const [agents, page] = [await takeFreePort(ports), await takeFreePort(ports)];

  for (let kill = 0; kill < KILLS; kill += 1) {
    const daemon = start('run', '--config', writeConfig(world, agents, page, WANTED[kill]!));
    await progress(daemon, kill);
    await stop(daemon, 'SIGKILL');
  }
  const survivor = start('run', '--config', writeConfig(world, agents, page, MACHINES));
  const machines = await vi.waitFor(
    async () => {
      const shown = await machinesOn(page);
      const well = shown.filter((m) => m.state === 'Running' && m.substate === 'healthy');
      expect(well).toHaveLength(MACHINES);
      return well;
    },
    { timeout: 600_000, interval: 250 },
  );

  const shown = await Promise.all(machines.map(({ slot }) => machineOn(page, slot)));
  const devices = new Set(shown.map(({ providerId }) => providerId));
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
}, 1_800_000);

/** How far a daemon gets before it is killed; each time further into the bring-up. */
const MILESTONES = ['machine created', 'agent started', 'agent started'];
const AFTER_MAX = 3;
/** Each daemon finds so many more to do than the one before it could, however late that was killed. */
const WANTED = [MACHINES - 2 * AFTER_MAX, MACHINES - AFTER_MAX, MACHINES];

async function progress({ child, ended }: Started, kill: number): Promise<void> {
  const milestone = MILESTONES[kill]!;
  const after = 1 + Math.floor(Math.random() * AFTER_MAX);
  const seen = new Promise<void>((resolve) => {
    let said = '';
    child.stderr!.on('data', (chunk: Buffer) => {
      said += chunk.toString();
      if (said.split(milestone).length > after) resolve();
    });
  });
  const failed = ended.then(({ code, stderr }): never => {
    throw new Error(`the daemon ended by itself with ${code}: ${stderr}`);
  });
  await Promise.race([seen, failed]);
}

async function machinesOn(port: number): Promise<readonly Shown[]> {
  const { machines } = (await asked(port, 'machines?limit=500')) as { machines: Shown[] };
  return machines;
}
const machineOn = async (port: number, slot: string) =>
  (await asked(port, `machines/${slot}`)) as { readonly providerId: string | null };

async function asked(port: number, path: string): Promise<unknown> {
  const answer = await fetch(`http://127.0.0.1:${port}/api/v1/${path}`);
  return answer.json();
}

async function admin({ adminUrl, tokens }: World, what: string): Promise<unknown> {
  const answer = await fetch(`${adminUrl}/${what}`, { headers: { 'x-fake-admin': tokens.admin } });
  return answer.json();
}

function writeConfig(
  { url, projectId, tokens }: World,
  agents: number,
  page: number,
  maxMachines: number,
): string {
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
    provisioner: { maxMachines, reconcilerRate: '1s', deviceCreationRate: '20ms' },
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
