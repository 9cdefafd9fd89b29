import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { takeOwnership } from '../adapters/bmdb/embedded/data-directory.ts';
import { systemRandom } from '../adapters/clock/system-clock.ts';
import type { Log } from '../adapters/log/port.ts';
import { loadOrCreateSshKey } from '../adapters/ssh/key-file.ts';
import { parseConfig, type Config, type ConfigInput } from '../config.ts';
import { UsageError } from '../domain/errors.ts';
import { startFakequinix } from '../simulator/fakequinix/fakequinix.ts';
import type { Fakequinix } from '../simulator/fakequinix/options.ts';
import type { World } from '../simulator/fakequinix/world.ts';
import { abandonMachines } from '../simulator/hosts/processes.ts';
import { createSimulatedHosts } from '../simulator/hosts/simulated-hosts.ts';
import { makeOwnDirectory } from '../simulator/private-path.ts';
import { keptPort, openSimPool, type NoPool, type PoolWishes, type SimPool } from './sim-pool.ts';
import type { SimulatedHosts } from '../simulator/hosts/options.ts';

/** The hardware that a simulated fleet runs on: a provider's API and the machines behind it. */
export interface SimWorld {
  readonly dir: string;
  readonly machines: number;
  readonly fakequinix: Fakequinix;
  readonly hosts: SimulatedHosts;
  /** Where the daemon listens for agents; 0: on any port, as nobody comes back to it. */
  readonly agentPort: number;
  /** What leads clients to the machines, or why nothing does; null: nobody asked for it. */
  readonly pool: SimPool | NoPool | null;
  /** Ends the API, the machines and everything that runs on them; removes a throw-away directory. */
  close(): Promise<void>;
  /** Kills what runs on the machines, and nothing more: for an end in the same instant. */
  abandon(): void;
}

export interface SimWorldOptions {
  /** Without it, as many as the directory holds, else 12. */
  readonly machines?: number | undefined;
  /** Kept, and continued by the next run; without one a temporary directory is used and removed. */
  readonly dataDir?: string;
  /** Agents are no processes of their own. */
  readonly light?: boolean;
  /** The machines stand in locations of this many each; without it, as the provider's default is. */
  readonly perLocation?: number;
  /** Each machine has a disk of so many bytes that agents can install to; else none. */
  readonly diskBytes?: number;
  /** Machines serve, and a balancer leads clients to them; without it, nobody does. */
  readonly pool?: PoolWishes & {
    /** Else there is none where none can be. */ readonly isNeeded: boolean;
  };
  readonly log: Log;
}

const MACHINES = 12;

/**
 * @throws {UsageError} another living process uses the directory, another user may write there, or
 *   it holds another number of machines than was asked for.
 */
export async function openSimWorld(options: SimWorldOptions): Promise<SimWorld> {
  const throwaway = options.dataDir === undefined;
  const dir = resolve(options.dataDir ?? mkdtempSync(join(tmpdir(), 'shepherd-sim-')));
  makeOwnDirectory(dir);
  const owner = join(dir, 'owner');
  await takeOwnership(dir, owner);
  const leave = () => rmSync(throwaway ? dir : owner, { recursive: true, force: true });
  try {
    const agentPort = throwaway ? 0 : await keptAgentPort(dir, options.log);
    const opened = await poolIn(dir, options);
    const pool = poolOf({ pool: opened });
    const { fakequinix, hosts } = await startWorld(dir, options, pool).catch(
      async (error: unknown) => {
        await pool?.close();
        throw error;
      },
    );
    return {
      dir,
      machines: fakequinix.reservations().length,
      fakequinix,
      hosts,
      agentPort,
      pool: opened,
      async close() {
        await fakequinix.close();
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

/** Agents of an earlier run know the port that they were told then, so it stays while it can. */
const keptAgentPort = (dir: string, log: Log): Promise<number> =>
  keptPort(join(dir, 'agent-port'), (port) =>
    log.warn({ port }, 'the port of the agent server was taken: agents are started anew'),
  );

/** @throws {UsageError} it is needed, and this computer lacks something. */
async function poolIn(
  dir: string,
  { pool, log }: SimWorldOptions,
): Promise<SimPool | NoPool | null> {
  if (!pool) return null;
  const opened = await openSimPool({ dir: join(dir, 'pool'), ...pool, log });
  if (pool.isNeeded && 'missing' in opened) throw new UsageError(opened.missing);
  return opened;
}

/** Null: there is none. */
export const poolOf = ({ pool }: Pick<SimWorld, 'pool'>): SimPool | null =>
  pool === null || 'missing' in pool ? null : pool;

async function startWorld(dir: string, options: SimWorldOptions, pool: SimPool | null) {
  const { machines, log, light = false, perLocation, diskBytes } = options;
  const hosts = createSimulatedHosts({
    dir: join(dir, 'machines'),
    log: log.child({ component: 'machines' }),
    random: systemRandom,
    light,
    ...(diskBytes !== undefined && { diskBytes }),
    ...(pool && { serving: { port: pool.internalPort } }),
    // Whoever logs in runs programs as we do: nobody but the daemon of this fleet.
    admitted: [(await loadOrCreateSshKey(sshKeyPath(dir))).publicLine],
  });
  try {
    const fakequinix = await startFakequinix({
      listen: { host: '127.0.0.1', port: 0 },
      profile: 'fast',
      reservations: machines ?? MACHINES,
      ...(perLocation !== undefined && { world: racks(machines ?? MACHINES, perLocation) }),
      stateFile: join(dir, 'fakequinix.json'),
      hooks: hosts,
      log: log.child({ component: 'fakequinix' }),
    });
    const held = fakequinix.reservations().length;
    if (machines !== undefined && held !== machines) {
      await fakequinix.close();
      throw new UsageError(
        `${dir} holds ${held} machines, not ${machines}; leave --machines out, or name another --data-dir`,
      );
    }
    return { fakequinix, hosts };
  } catch (error) {
    await hosts.close();
    throw error;
  }
}

/** A world whose reservations stand in locations `rack1`, `rack2` … */
function racks(machines: number, perLocation: number): World {
  const codes = Array.from(
    { length: Math.ceil(machines / perLocation) },
    (_, at) => `rack${at + 1}`,
  );
  return {
    facilities: codes.map((code) => ({ code, metro: 'fr' })),
    reservations: codes.map((facility, at) => ({
      facility,
      count: Math.min(perLocation, machines - at * perLocation),
    })),
  };
}

const sshKeyPath = (dir: string) => join(dir, 'ssh-key');

const TOKEN = 'SHEPHERD_SIM_TOKEN';
const SIM_PREFIX = 'shepherd-sim-';
/** Name of the provider in a simulated fleet. */
export const SIM_PROVIDER = 'equinix';
const SIM_SET = 'simul-fleet-000000000000001';

/** The configuration of a daemon for this world, with times as quick as the world's. */
export const simConfig = (world: ConfiguredWorld, overrides: Partial<ConfigInput>): Config =>
  parseSimConfig(world, { ...simInput(world), ...overrides });

/** What of a world its daemon must be told. */
export type ConfiguredWorld = Pick<SimWorld, 'dir' | 'fakequinix' | 'machines'> &
  Partial<Pick<SimWorld, 'agentPort' | 'pool'>>;

/** As {@link parseConfig}; may refer to the token of the world's API, and to what `env` holds. */
export const parseSimConfig = (
  { dir, fakequinix }: ConfiguredWorld,
  input: ConfigInput,
  env: Readonly<Record<string, string>> = {},
): Config =>
  parseConfig(input, { env: { [TOKEN]: fakequinix.tokens.project, ...env }, baseDirectory: dir });

/** The same as {@link simConfig}, as it would be written. */
export const simInput = ({
  dir,
  fakequinix,
  machines,
  agentPort = 0,
  pool = null,
}: ConfiguredWorld) =>
  ({
    database: { embedded: { dataDir: join(dir, 'postgres') } },
    session: { interval: '5s' },
    providers: {
      [SIM_PROVIDER]: {
        driver: 'equinix',
        baseUrl: fakequinix.url,
        token: `\${${TOKEN}}`,
        username: 'simulation',
        projectId: fakequinix.projectId,
        devicePrefix: SIM_PREFIX,
        sshKeyLabel: 'shepherd-sim',
        instanceSetId: SIM_SET,
        callsPerSecond: 0,
        // Nothing on simulated disks is anybody's.
        recoveryMayEraseDisks: true,
        apiRate: '5ms',
        reservationCacheTimeout: '1s',
        sshPortFromCustomdata: true,
        probeGap: '200ms',
        settle: '2s',
      },
    },
    provisioner: {
      maxMachines: machines,
      reconcilerRate: '1s',
      deviceCreationRate: '20ms',
      reservationChunkSize: 20,
      concurrentCreations: 20,
      penalty: '10s',
    },
    agent: { heartbeatPeriod: '1s', heartbeatDeadline: '5s', firstHeartbeatDeadline: '20s' },
    ssh: { keyPath: sshKeyPath(dir) },
    agentServer: {
      listen: `127.0.0.1:${agentPort}`,
      devCertificates: { dir: join(dir, 'certificates') },
    },
    initializer: { backoff: QUICK_BACKOFF },
    recoverer: { backoff: QUICK_BACKOFF, ladder: QUICK_LADDER, pollInterval: '250ms' },
    guard: { newFor: '30s', calmFor: '10s' },
    mirror: { scanInterval: '5s', listInterval: '1s' },
    console: { listen: '127.0.0.1:4243' },
    ...poolOf({ pool })?.input,
  }) satisfies ConfigInput;

const QUICK_LADDER = {
  restartingAgent: { patience: '5s' },
  rebooting: { patience: '20s' },
  powerCycling: { patience: '20s' },
  reinstalling: { patience: '60s' },
};
const QUICK_BACKOFF = { initial: '1s', exponent: 1.2, maximum: '10s' };
