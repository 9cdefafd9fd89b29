import { randomBytes } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { vi } from 'vitest';
import { takeFreePort } from '../../src/adapters/network/free-port.ts';
import { shepherd } from '../e2e/commands.ts';
import { withBrowser } from '../support/browser.ts';
import { HOST_INSIDE, memoryOf } from './qemu.ts';

/** Whether the daemon has the periods of a real fleet, which take an hour here. */
const HAS_DEFAULTS = process.env['SHEPHERD_MACHINE_DEFAULTS'] === '1';
/** Whether the daemon stays, for a look at its page, until somebody ends it. */
const IS_KEPT = process.env['SHEPHERD_MACHINE_KEEP'] === '1';
/** Directory for pictures of machines' pages. */
const SHOTS = process.env['SHEPHERD_MACHINE_SHOTS'];

/** The time that a machine without KVM needs for hours of a fleet, or for its short periods. */
export const WAIT = { timeout: HAS_DEFAULTS ? 3_600_000 : 900_000, interval: 250 };
export const STORY_LIMIT_MS = 4 * WAIT.timeout;

/** How silence, patience and listings are shortened; everything else is the default. */
const SHORT = {
  agent: { heartbeatPeriod: '2s', heartbeatDeadline: '20s' },
  provisioner: { reconcilerRate: '2s' },
  mirror: { listInterval: '2s', scanInterval: '5s' },
  recoverer: { pollInterval: '1s', backoff: { initial: '5s' } },
};

/** What the API tells of a machine; only what tests read. */
export interface ShownMachine {
  readonly state: string;
  readonly substate: string;
  readonly agent: { readonly startedAtMs: number; readonly bootId: string | null } | null;
  readonly ladder: { readonly operationRef: string | null } | null;
  readonly hostKey: string | null;
  readonly conditionRows: readonly { readonly type: string; readonly status: string }[];
}

export interface DaemonOptions {
  readonly dir: string;
  readonly agent: string;
  /** The provider `rack`, without what is the same for all. */
  readonly rack: Readonly<Record<string, unknown>>;
  readonly credentials: { readonly username: string; readonly password: string };
  /** Of the driver, where the defaults would take minutes. */
  readonly short?: Readonly<Record<string, unknown>>;
}

/** Starts `shepherd run` with default settings, except for addresses and {@link SHORT}. */
export async function startDaemon({ dir, agent, rack, credentials, short }: DaemonOptions) {
  const [agents, port] = [await takeFreePort(PORTS), await takeFreePort(PORTS)];
  const token = randomBytes(24).toString('hex');
  const provider = {
    ...{ driver: 'redfish', instanceSetId: 'tests-machi-000000000000001' },
    ...{ inventory: 'file:inventory.json' },
    credentials: { default: { username: credentials.username, password: '${BMC_PASSWORD}' } },
    ...rack,
    ...(!HAS_DEFAULTS && short),
  };
  const config = {
    ...(!HAS_DEFAULTS && SHORT),
    database: { embedded: { dataDir: 'postgres' } },
    providers: { rack: provider },
    ssh: { keyPath: 'ssh-key' },
    agent: {
      ...(!HAS_DEFAULTS && SHORT.agent),
      executablePath: agent,
      endpoint: `${HOST_INSIDE}:${agents}`,
    },
    agentServer: { listen: `127.0.0.1:${agents}`, devCertificates: { dir: 'certificates' } },
    console: {
      listen: `127.0.0.1:${port}`,
      tokens: { test: { token: '${CONSOLE_TOKEN}', role: 'admin' } },
    },
  };
  const path = join(dir, 'shepherd.yaml');
  writeFileSync(path, JSON.stringify(config, null, 2));
  const secrets = {
    BMC_PASSWORD: credentials.password,
    CONSOLE_TOKEN: token,
    SEED_KEY: 'seed-key-of-the-tests-000000000000',
  };
  const begin = () => shepherd(['run', '--config', path], secrets);
  let daemon = begin();
  await daemon.started();
  const url = `http://127.0.0.1:${port}`;
  const machine = async (slot: string): Promise<ShownMachine> => {
    const headers = { authorization: `Bearer ${token}` };
    const answer = await fetch(`${url}/api/v1/machines/rack/${slot}`, { headers });
    if (!answer.ok) throw new Error(`${slot}: ${answer.status} ${await answer.text()}`);
    return (await answer.json()) as ShownMachine;
  };
  const stop = async () => {
    daemon.child.kill('SIGTERM');
    return daemon.ended;
  };
  /** Runs a command at the console. @throws {Error} it fails. */
  const command = async (...args: string[]): Promise<string> => {
    const { code, stdout, stderr } = await shepherd(args, {
      ...{ SHEPHERD_URL: url, SHEPHERD_TOKEN: token, COLUMNS: '120' },
    }).ended;
    if (code !== 0) throw new Error(`shepherd ${args.join(' ')}: ${stdout}${stderr}`);
    return stdout;
  };
  return {
    ...{ command, machine, stop },
    /** Resolves when the machine is shown so. */
    becomes: (slot: string, isSo: (shown: ShownMachine) => boolean): Promise<ShownMachine> =>
      vi.waitUntil(async () => {
        const shown = await machine(slot).catch(() => null);
        return shown && isSo(shown) ? shown : null;
      }, WAIT),
    /** Ends it as a crash does, and starts another. */
    async crash() {
      daemon.child.kill('SIGKILL');
      await daemon.ended;
      daemon = begin();
      await daemon.started();
    },
    /** Prints how a life went, and lets a person look. @param machineBytes memory of the machines. */
    async tell(slot: string, machineBytes: number) {
      const say = (text: string) => void process.stdout.write(text);
      for (const what of ['history', 'show']) say(await command('machine', what, `rack/${slot}`));
      const megabytes = (bytes: number) => `${Math.round(bytes / 1e6)} MB`;
      const own = megabytes(memoryOf(daemon.child));
      say(`memory at most: daemon ${own}, each machine ${megabytes(machineBytes)}\n`);
      const link = (await shepherd(['ui', '--config', path], secrets).ended).stdout;
      if (SHOTS !== undefined) await takePicture(link, slot, SHOTS);
      if (!IS_KEPT) return;
      say(`${link}End it with: kill ${daemon.child.pid}\n`);
      await daemon.ended;
    },
  };
}
const PORTS = new Set<number>();

/** Takes a picture of the machine's page. */
const takePicture = (link: string, slot: string, directory: string) =>
  withBrowser(async ({ page }) => {
    await page.goto(/http\S+/.exec(link)![0]);
    await page.locator('.fleet-line').waitFor();
    await page.goto(new URL(`/machines/rack/${slot}`, page.url()).href);
    await page.locator('.explained .sentence').waitFor();
    await page.getByText('Connecting to Shepherd').first().waitFor({ state: 'detached' });
    mkdirSync(directory, { recursive: true });
    await page.screenshot({ path: join(directory, `${slot}.png`), fullPage: true });
  });

export const isHealthy = ({ state, substate }: ShownMachine): boolean =>
  state === 'Running' && substate === 'healthy';
