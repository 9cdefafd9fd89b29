import { z } from 'zod';
import type { BalancerDriver, LoadBalancer } from '../../src/adapters/balancer/port.ts';
import type { Bmdb } from '../../src/adapters/bmdb/port.ts';
import type { Random } from '../../src/adapters/clock/port.ts';
import type { DriverContext, Provider } from '../../src/adapters/provider/port.ts';
import type { RemoteShell } from '../../src/adapters/ssh/port.ts';
import {
  acceptancePolicies,
  parseConfig,
  type Config,
  type ConfigInput,
} from '../../src/config.ts';
import { startDaemon, type Daemon } from '../../src/daemon/daemon.ts';
import { guardPolicyOf, TUNING } from '../../src/daemon/tuning.ts';
import type { Ports } from '../../src/daemon/ports.ts';
import { Unreachable } from '../../src/domain/errors.ts';
import type { HeartbeatOutcome, HeartbeatRecord } from '../../src/domain/heartbeat.ts';
import { DEFAULT_BUDGET, DEFAULT_LOSS } from '../../src/domain/policy.ts';
import { driverTable } from '../../src/settings/driver-table.ts';
import { createFakeShell } from '../doubles/fake-shell.ts';
import type { MemAgentServer } from '../doubles/mem-agent-server.ts';
import { createMemBmdb, type MemBmdb } from '../doubles/mem-bmdb/mem-bmdb.ts';
import type { MemMetrics } from '../doubles/mem-metrics.ts';
import { createMemProvider, MEMORY_DRIVERS, type MemProvider } from '../doubles/mem-provider.ts';
import { createMemoryBalancer, type MemoryBalancer } from '../doubles/memory-balancer.ts';
import { createProcess } from '../doubles/process.ts';
import { recordingLog, type RecordingLog } from '../doubles/recording-log.ts';
import {
  createSeededRandom,
  createSimulatedClock,
  type VirtualClock,
} from '../doubles/simulated-clock.ts';
import { PROVIDER } from './facts.ts';
import { createMemMachines, type SimulatedMachine } from '../doubles/mem-machines.ts';
import { memPorts } from './mem-ports.ts';

/** Hardware, its provider and an in-memory database, for any number of daemons in virtual time. */
export interface PlayedWorld {
  readonly clock: VirtualClock;
  readonly random: Random;
  /** Shared by all daemons. */
  readonly config: Config;
  readonly bmdb: MemBmdb;
  readonly provider: MemProvider;
  /** Machines that have booted, by address and port. */
  readonly hosts: ReadonlyMap<string, SimulatedMachine>;
  /** Null: the fleet has no pool. */
  readonly balancer: MemoryBalancer | null;
  /** Sets a computer's wall clock ahead by this much, for its present and later daemons. */
  setClock(name: string, offsetMs: number): void;
  /** Cuts agents off from the daemon on this computer. The daemon does not notice. */
  deafen(name: string, isDeaf: boolean): void;
  /** Moves a device's machine to another address, which the provider shows from now on. */
  move(deviceId: string, address: string): void;
  /** Boots a machine by hand, not by the provider. */
  boot(address: string): void;
  /** Starts a daemon as if it were a process of its own. */
  start(about: DaemonAbout): Promise<PlayedDaemon>;
  /** Stops the simulated world, so that only timers of daemons can be left. */
  end(): void;
}

export interface PlayedDaemon {
  readonly daemon: Daemon;
  readonly log: RecordingLog;
  readonly metrics: MemMetrics;
  readonly isAlive: boolean;
  /** Stops dead, without a word to anybody. */
  kill(): void;
  /** Stops as by SIGSTOP, and continues as by SIGCONT. */
  pause(): void;
  resume(): void;
}

export interface WorldOptions {
  /** Reservations by location. */
  readonly locations: Readonly<Record<string, number>>;
  /** Seed of all randomness. */
  readonly seed: number;
  /** Changes to the users' defaults. */
  readonly config?: Partial<Omit<ConfigInput, 'providers'>>;
  readonly ofProvider?: Partial<ConfigInput['providers'][string]>;
  /** Kinds of balancers in the configuration; the default is none. */
  readonly balancerDrivers?: readonly BalancerDriver[];
  /** All machines serve in a pool `api` at an in-memory balancer `edge`. */
  readonly hasPool?: boolean;
  /** Of that pool; the default is the users'. */
  readonly minActive?: number;
  /** Machines have BMCs that may hang. */
  readonly hasControllers?: boolean;
  /** The virtual clock; the default is a new one. */
  readonly clock?: VirtualClock;
}

/** How one daemon differs, for example by ports with faults. */
export interface DaemonAbout {
  /** Name of the daemon's computer. */
  readonly name: string;
  readonly bmdb?: (bmdb: Bmdb) => Bmdb;
  readonly driven?: (driven: Provider, context: DriverContext) => Provider;
  readonly shell?: (shell: RemoteShell) => RemoteShell;
  readonly balancer?: (balancer: LoadBalancer) => LoadBalancer;
  /** Whether its agent server accepts calls; by default while it has a session. */
  readonly isListening?: () => boolean;
  readonly inspect?: Ports['inspect'];
  /** A console; the default is none. */
  readonly startConsole?: Ports['startConsole'];
  /** Its own random numbers; the default is the world's. */
  readonly random?: Random;
  /** Its roles; the default is all. */
  readonly roles?: Config['roles'];
  /** How far its wall clock is ahead; the default is 0. */
  readonly clockOffsetMs?: number;
}

/** Time from a creation, and from a reboot, until the machine answers. */
const PROVISIONING_MS = 120_000;
const BOOT_MS = 60_000;
const INSTANCE_SET = 'small-world-000000000000000';
const same = <Part>(part: Part): Part => part;

export function createPlayedWorld(given: WorldOptions): PlayedWorld {
  const clock = given.clock ?? createSimulatedClock();
  const random = createSeededRandom(given.seed);
  const balancer = given.hasPool
    ? createMemoryBalancer({
        clock,
        healthOf: (address) => (land.hosts.get(`${address}:22`)?.unreachable ? 'down' : 'up'),
      })
    : null;
  const options = balancer ? withPool(given, balancer) : given;
  const config = playedConfig(options);
  const clocks = new Map<string, (offsetMs: number) => void>();
  const offsets = new Map<string, number>();
  const deaf = new Set<string>();
  const guard = guardPolicyOf(config, TUNING);
  const policies = { loss: DEFAULT_LOSS, budget: DEFAULT_BUDGET, guard };
  const acceptance = acceptancePolicies(config.providers);
  const bmdb = createMemBmdb({ clock, random, ...policies, acceptance });
  const listeners = createListeners();
  const land = createMemMachines({ clock, random, report: listeners.report, bootMs: BOOT_MS });
  const provider = createMemProvider(
    {
      devicePrefix: 'machine-',
      instanceSetId: INSTANCE_SET,
      reservations: 0,
      locations: options.locations,
      provisioningMs: PROVISIONING_MS,
      latencyMs: 0,
      controllers: options.hasControllers ?? false,
    },
    {
      clock,
      random,
      onUp: land.raise,
      onReboot: ({ address }) => land.reboot(address!),
      onDown: ({ address }) => land.down(address!),
      onUpAgain: ({ address }, initCommand) => land.up(address!, initCommand),
    },
  );
  const fakeShell = createFakeShell({ hosts: land.hosts, clock });

  async function start(about: DaemonAbout): Promise<PlayedDaemon> {
    const { name: hostname, startConsole } = about;
    const process = createProcess(clock, offsets.get(hostname) ?? about.clockOffsetMs);
    clocks.set(hostname, process.setClock);
    const log = recordingLog();
    const { bmdb: ownBmdb = same, driven = same, shell = same, inspect = null } = about;
    const { balancer: ownBalancer = same } = about;
    const { driver } = provider;
    /** No balancer sends agents to a stopped daemon. */
    let isServing = true;
    const ports = memPorts({
      log,
      clock: process.clock,
      random: about.random ?? random,
      bmdb: process.guard(ownBmdb(bmdb)),
      shell: process.guard(shell(fakeShell)),
      balancerDrivers: (options.balancerDrivers ?? []).map((each) => ({
        ...each,
        open: (...opening) => process.guard(ownBalancer(each.open(...opening))),
      })),
      drivers: [
        {
          ...driver,
          open: (settings, context) =>
            process.guard(driven(driver.open(settings, context), context)),
        },
      ],
      agents: about.isListening ? { isReady: about.isListening } : {},
      onAgentServer: (server) =>
        listeners.add(server, {
          isRunning: () => isServing && process.isRunning,
          isDeaf: () => deaf.has(hostname),
        }),
    });
    const stopsServing = () => void (isServing = false);
    const daemon = await startDaemon({
      config: about.roles ? { ...config, roles: about.roles } : config,
      ports: { ...ports, hostname, inspect, ...(startConsole && { startConsole }) },
      version: '0.0.0',
    }).catch((error: unknown) => {
      stopsServing();
      throw error;
    });
    void daemon.stopped.then(stopsServing, stopsServing);
    return {
      daemon,
      log,
      metrics: ports.metrics,
      get isAlive() {
        return process.isAlive;
      },
      kill: process.kill,
      pause: process.pause,
      resume: process.resume,
    };
  }
  function move(deviceId: string, address: string) {
    const { world } = provider;
    const [before] = world.device(deviceId)!.addresses;
    land.move(before!, address);
    world.change(deviceId, { addresses: [address] });
  }
  return {
    ...{ clock, random, config, bmdb, provider, balancer, hosts: land.hosts },
    setClock(name, offsetMs) {
      offsets.set(name, offsetMs);
      clocks.get(name)?.(offsetMs);
    },
    deafen: (name, isDeaf) => void (isDeaf ? deaf.add(name) : deaf.delete(name)),
    move,
    boot: (address) => land.reboot(address),
    start,
    end: land.end,
  };
}

/** The same options with a balancer that all daemons share, and a pool of all machines. */
function withPool(options: WorldOptions, { balancer }: MemoryBalancer): WorldOptions {
  const shared: LoadBalancer = { ...balancer, close: async () => undefined };
  const driver: BalancerDriver = {
    name: 'memory',
    settings: () => z.strictObject({}),
    open: () => shared,
  };
  const api = {
    balancers: ['edge'],
    addresses: ['192.0.2.10'],
    ports: { http: { external: 80, internal: 8080 } },
    select: {},
    ...(options.minActive !== undefined && { minActive: options.minActive }),
  };
  const balancers = { edge: { driver: driver.name } };
  return {
    ...options,
    config: { ...options.config, fleet: 'eu', balancers, pools: { api } },
    balancerDrivers: [driver],
  };
}

/** Where agents report: to the servers of all daemons in turn, as behind a balancer. */
function createListeners() {
  interface NetworkPath {
    isRunning(): boolean;
    isDeaf(): boolean;
  }
  const servers: (NetworkPath & { readonly server: MemAgentServer })[] = [];
  let calls = 0;
  return {
    add: (server: MemAgentServer, way: NetworkPath) => void servers.push({ server, ...way }),
    async report(record: HeartbeatRecord): Promise<HeartbeatOutcome> {
      const open = servers.filter(({ isRunning }) => isRunning());
      const next = open[calls % open.length];
      calls += 1;
      if (!next || next.isDeaf()) throw new Unreachable('no agent server listens');
      return next.server.report(record);
    },
  };
}

/** The users' defaults, with the required settings and the test's changes. */
const playedConfig = ({ config, ofProvider, balancerDrivers = [] }: WorldOptions): Config =>
  parseConfig(
    {
      database: { embedded: { dataDir: 'unused' } },
      providers: { [PROVIDER]: { driver: 'memory', instanceSetId: INSTANCE_SET, ...ofProvider } },
      agent: { endpoint: '192.0.2.100:7000' },
      ssh: { keyPath: 'unused' },
      agentServer: { devCertificates: { dir: 'unused' } },
      ...config,
    },
    { baseDirectory: '/nonexistent' },
    { providers: MEMORY_DRIVERS, balancers: driverTable(balancerDrivers) },
  );
