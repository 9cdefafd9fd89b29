import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { takeOwnership } from '../../src/adapters/bmdb/embedded/data-directory.ts';
import { systemRandom } from '../../src/adapters/clock/system-clock.ts';
import type { Log } from '../../src/adapters/log/port.ts';
import { loadOrCreateSshKey } from '../../src/adapters/ssh/key-file.ts';
import { parseConfig, type Config, type ConfigInput } from '../../src/config.ts';
import { UsageError } from '../../src/domain/errors.ts';
import type { EquinixEmulator } from '../equinix/options.ts';
import { hasLoopbackNetwork } from '../hosts/serving/addresses.ts';
import { abandonMachines } from '../hosts/processes.ts';
import { createSimulatedHosts } from '../hosts/simulated-hosts.ts';
import { makeOwnDirectory } from '../kit/private-path.ts';
import { equinixKind } from './providers/equinix.ts';
import { MACHINES, type SimKind, type SimProvider } from './providers/provider.ts';
import { keptPort, openSimPool, type NoPool, type DesiredMembers, type SimPool } from './pool.ts';
import type { SimulatedHosts } from '../hosts/options.ts';

/** A simulated fleet's hardware: a provider's API and its machines. */
export interface SimWorld {
  readonly dir: string;
  readonly machines: number;
  readonly provider: SimProvider;
  readonly hosts: SimulatedHosts;
  /** More machines that the provider has, to replace retired ones. */
  readonly spares: number;
  /** SSH port of all machines whose provider gives no port. */
  readonly sshPort: number;
  /** The daemon's agent port; 0: any port, because nobody returns to it. */
  readonly agentPort: number;
  /** The balancer for clients, or why there is none; null: not requested. */
  readonly pool: SimPool | NoPool | null;
  /** Ends the API, the machines and their programs; removes a throw-away directory. */
  close(): Promise<void>;
  /** Only kills the machines' programs, for an immediate end. */
  abandon(): void;
}

/** A world on an emulator of Equinix Metal. */
export interface EquinixWorld extends SimWorld {
  readonly emulator: EquinixEmulator;
}

export interface SimWorldOptions {
  /** Default: the directory's number, otherwise 12. */
  readonly machines?: number | undefined;
  /** Kept, and continued by the next run; by default a temporary directory that is removed. */
  readonly dataDir?: string;
  /** Machines that the provider has besides; default: none. Not for a kept directory. */
  readonly spares?: number;
  /** Agents without their own processes. */
  readonly light?: boolean;
  /** Number of machines per location; default: the provider's. */
  readonly perLocation?: number;
  /** Size of each machine's disk for agents to install to; default: no disk. */
  readonly diskBytes?: number;
  /** Machines serve, and a balancer sends clients to them; default: neither. */
  readonly pool?: DesiredMembers;
  readonly log: Log;
}

/** Like {@link openWorldOn}, on Equinix Metal. */
export async function openSimWorld(options: SimWorldOptions): Promise<EquinixWorld> {
  const world = await openWorldOn(equinixKind, options);
  return { ...world, emulator: world.provider.emulator };
}

/**
 * @throws {UsageError} another living process uses the directory, another user may write there, it
 * holds a different number of machines than requested, or the emulator keeps no state.
 */
export async function openWorldOn<Provider extends SimProvider>(
  kind: SimKind<Provider>,
  options: SimWorldOptions,
): Promise<SimWorld & { readonly provider: Provider }> {
  if (options.dataDir !== undefined && !kind.isKept) {
    throw new UsageError('this emulator forgets what it holds: leave --data-dir out');
  }
  const throwaway = options.dataDir === undefined;
  const { spares = 0 } = options;
  const dir = resolve(options.dataDir ?? mkdtempSync(join(tmpdir(), 'shepherd-sim-')));
  makeOwnDirectory(dir);
  const owner = join(dir, 'owner');
  await takeOwnership(dir, owner);
  const leave = () => rmSync(throwaway ? dir : owner, { recursive: true, force: true });
  try {
    const agentPort = throwaway ? 0 : await keptAgentPort(dir, options.log);
    const opened = await poolIn(dir, options);
    const pool = poolOf({ pool: opened });
    const { provider, hosts, sshPort } = await startWorld(kind, dir, options, pool).catch(
      async (error: unknown) => {
        await pool?.close();
        throw error;
      },
    );
    return {
      dir,
      machines: provider.machines - spares,
      spares,
      provider,
      hosts,
      sshPort,
      agentPort,
      pool: opened,
      async close() {
        await provider.close();
        await hosts.close();
        await pool?.close();
        leave();
      },
      abandon() {
        pool?.abandon();
        abandonMachines(dir);
        leave();
      },
    };
  } catch (error) {
    leave();
    throw error;
  }
}

/** Agents of an earlier run know their port, so the port stays the same if possible. */
const keptAgentPort = (dir: string, log: Log): Promise<number> =>
  keptPort(join(dir, 'agent-port'), (port) =>
    log.warn({ port }, 'the port of the agent server was taken: agents are started anew'),
  );

/** @throws {UsageError} HAProxy is required, and this computer lacks something. */
async function poolIn(
  dir: string,
  { pool, log }: SimWorldOptions,
): Promise<SimPool | NoPool | null> {
  if (!pool) return null;
  const opened = await openSimPool({ dir: join(dir, 'pool'), ...pool, log });
  if (pool.needsHaproxy && 'missing' in opened) throw new UsageError(opened.missing);
  return opened;
}

/** Null: no pool. */
export const poolOf = ({ pool }: Pick<SimWorld, 'pool'>): SimPool | null =>
  pool === null || 'missing' in pool ? null : pool;

async function startWorld<Provider extends SimProvider>(
  kind: SimKind<Provider>,
  dir: string,
  options: SimWorldOptions,
  pool: SimPool | null,
) {
  const { spares = 0, log, light = false, perLocation, diskBytes } = options;
  const machines = spares > 0 ? (options.machines ?? MACHINES) + spares : options.machines;
  const sshPort = kind.onePort ? await onePort(dir, log) : 22;
  const { publicLine } = await loadOrCreateSshKey(sshKeyPath(dir));
  let provider: Provider | null = null;
  const hosts = createSimulatedHosts({
    dir: join(dir, 'machines'),
    log: log.child({ component: 'machines' }),
    random: systemRandom,
    light,
    ...(diskBytes !== undefined && { diskBytes }),
    ...(pool && { serving: { port: pool.internalPort } }),
    ...(kind.onePort && { sshPort }),
    play: (deviceId, argv) => provider?.play?.(deviceId, argv),
    // A login can run programs as this user, so only this fleet's daemon may log in.
    admitted: [publicLine],
  });
  try {
    const started = { dir, machines, perLocation, hosts, sshPort, publicLine, log };
    provider = await kind.start(started);
    return { provider, hosts, sshPort };
  } catch (error) {
    await hosts.close();
    throw error;
  }
}

/** @throws {UsageError} machines cannot have their own addresses here. */
async function onePort(dir: string, log: Log): Promise<number> {
  if (!(await hasLoopbackNetwork())) {
    throw new UsageError('machines need addresses of 127.0.0.0/8, which this system does not have');
  }
  return keptPort(join(dir, 'ssh-port'), (port) =>
    log.warn({ port }, 'the port of SSH was taken: machines have a new one'),
  );
}

const sshKeyPath = (dir: string) => join(dir, 'ssh-key');

/** Name of the provider in a fleet on Equinix Metal. */
export const SIM_PROVIDER = 'equinix';

/** The configuration of a daemon for this world, with times as fast as the world's. */
export const simConfig = (world: ConfiguredWorld, overrides: Partial<ConfigInput>): Config =>
  parseSimConfig(world, { ...simInput(world), ...overrides });

/** What a daemon must know about a world. */
export type ConfiguredWorld = Pick<SimWorld, 'dir' | 'provider' | 'machines'> &
  Partial<Pick<SimWorld, 'agentPort' | 'pool' | 'spares' | 'sshPort'>>;

/** Like {@link parseConfig}; may refer to secrets of the world's provider and to `env`. */
export function parseSimConfig(
  { dir, provider }: ConfiguredWorld,
  input: ConfigInput,
  env: Readonly<Record<string, string>> = {},
): Config {
  const secrets = Object.entries(provider.secrets).map(([name, value]) => [PREFIX + name, value]);
  const known = Object.fromEntries(secrets) as Record<string, string>;
  return parseConfig(input, { env: { ...known, ...env }, baseDirectory: dir });
}

const PREFIX = 'SHEPHERD_SIM_';
const inEnvironment = (secret: string): string => `\${${PREFIX}${secret}}`;

/** The same as {@link simConfig}, in written form. */
export const simInput = (
  { dir, provider, machines, ...world }: ConfiguredWorld,
  refer: (secret: string) => string = inEnvironment,
) => {
  const { agentPort = 0, pool = null, spares = 0, sshPort = 22 } = world;
  return {
    database: { embedded: { dataDir: join(dir, 'postgres') } },
    session: { interval: '5s' },
    providers: {
      [provider.name]: { ...provider.section(refer), ...(spares > 0 && { target: machines }) },
    },
    provisioner: {
      maxMachines: machines + spares,
      reconcilerRate: '1s',
      deviceCreationRate: '20ms',
      reservationChunkSize: 20,
      concurrentCreations: 20,
      penalty: '10s',
    },
    agent: { heartbeatPeriod: '1s', heartbeatDeadline: '5s', firstHeartbeatDeadline: '20s' },
    ssh: { keyPath: sshKeyPath(dir), port: sshPort },
    agentServer: {
      listen: `127.0.0.1:${agentPort}`,
      devCertificates: { dir: join(dir, 'certificates') },
    },
    initializer: { backoff: QUICK_BACKOFF },
    recoverer: {
      ...{ backoff: QUICK_BACKOFF, ladder: QUICK_LADDER, pollInterval: '250ms' },
      ...(spares > 0 && { chronic: { episodes: 3, within: '110s' }, retire: 'chronic' }),
    },
    conditions: { 'disk-failing': 'drain' },
    guard: { newFor: '30s', calmFor: '10s' },
    mirror: { scanInterval: '5s', listInterval: '1s' },
    console: { listen: '127.0.0.1:4243' },
    ...poolOf({ pool })?.input,
  } satisfies ConfigInput;
};

const QUICK_LADDER = {
  restartingAgent: { patience: '5s' },
  rebooting: { patience: '20s' },
  powerCycling: { patience: '20s' },
  reinstalling: { patience: '60s' },
};
const QUICK_BACKOFF = { initial: '1s', exponent: 1.2, maximum: '10s' };
