import type { Board } from '../../src/actors/board.ts';
import type { Desk } from '../../src/actors/turns/desk.ts';
import type { GuardWatch } from '../../src/actors/guard/watch.ts';
import type { Mirror } from '../../src/actors/mirror/mirror.ts';
import type { PermitQueue } from '../../src/actors/turns/permit-queue.ts';
import type { SessionKeeper } from '../../src/actors/session-keeper.ts';
import type { Bmdb } from '../../src/adapters/bmdb/port.ts';
import type { Random } from '../../src/adapters/clock/port.ts';
import type { Provider } from '../../src/adapters/provider/port.ts';
import type { RemoteShell } from '../../src/adapters/ssh/port.ts';
import { parseConfig, type Config, type ConfigInput } from '../../src/config.ts';
import { startDaemon, type Daemon } from '../../src/daemon/daemon.ts';
import { guardPolicyOf } from '../../src/daemon/guard-policy.ts';
import type { Ports } from '../../src/daemon/ports.ts';
import { TUNING } from '../../src/daemon/tuning.ts';
import { DEFAULT_BUDGET, DEFAULT_LOSS } from '../../src/domain/policy.ts';
import type { MachineView } from '../../src/domain/view.ts';
import { createFakeShell } from '../doubles/fake-shell.ts';
import type { MemAgentServer } from '../doubles/mem-agent-server.ts';
import { createMemBmdb, type MemBmdb } from '../doubles/mem-bmdb/mem-bmdb.ts';
import type { MemMetrics } from '../doubles/mem-metrics.ts';
import { createSeededRandom } from '../doubles/simulated-clock.ts';
import { PROVIDER } from './facts.ts';
import { createLand, type SimulatedMachine } from './land.ts';
import { createMemProvider, type MemProvider } from '../doubles/mem-provider.ts';
import { memPorts } from './mem-ports.ts';
import { recordingLog, type RecordingLog } from '../doubles/recording-log.ts';
import { createSimulatedClock, type VirtualClock } from '../doubles/simulated-clock.ts';

export type { SimulatedMachine } from './land.ts';

/** A whole daemon as it ships, over a world in memory and in virtual time. */
export interface SmallWorld {
  readonly clock: VirtualClock;
  readonly random: Random;
  readonly bmdb: MemBmdb;
  readonly provider: MemProvider;
  /** Machines that came up, by address and port. */
  readonly hosts: ReadonlyMap<string, SimulatedMachine>;
  readonly log: RecordingLog;
  /** What the daemon counted; it is there before its daemon. */
  readonly metrics: MemMetrics;
  /** What the mirror said last of each slot; nothing before the daemon is started. */
  readonly views: ReadonlyMap<string, MachineView>;
  /** Sweeps so far, one per period while the services of a session run undisturbed. */
  sweeps(): number;
  /** Starts the daemon. Answers its supervisor. */
  fleet(): Promise<Daemon['supervisor']>;
  /** Stops what plays the world, so that nothing but the daemon's own timers can be left. */
  end(): void;
  /** Parts of the daemon, once it is started. */
  readonly desk: Desk;
  readonly keeper: SessionKeeper;
  readonly mirror: Mirror;
  readonly board: Board;
  readonly watch: GuardWatch;
  readonly permits: PermitQueue;
}

export interface SmallWorldOptions {
  readonly machines?: number;
  /** Reservations by location, instead of `machines` in one. */
  readonly locations?: Readonly<Record<string, number>>;
  readonly seed?: number;
  /** Tasks of each kind at once. */
  readonly places?: number;
  readonly provisioner?: ConfigInput['provisioner'];
  /** What differs in the configuration of the recovery ladder. */
  readonly ladder?: NonNullable<ConfigInput['recoverer']>['ladder'];
  readonly bootMs?: number;
  /** Whether the agent server takes calls; always when absent. */
  readonly isListening?: () => boolean;
  /** The ports as the daemon is to have them, such as with faults. */
  readonly bmdb?: (bmdb: Bmdb) => Bmdb;
  readonly driven?: (driven: Provider) => Provider;
  readonly shell?: (shell: RemoteShell) => RemoteShell;
  readonly inspect?: Ports['inspect'];
}

export const INSTANCE_SET = 'small-world-000000000000000';

export function createSmallWorld(options: SmallWorldOptions = {}): SmallWorld {
  const clock = createSimulatedClock();
  const random = createSeededRandom(options.seed ?? 1);
  const log = recordingLog();
  const config = smallConfig(options);
  const bmdb = createMemBmdb({
    clock,
    random,
    loss: DEFAULT_LOSS,
    budget: DEFAULT_BUDGET,
    guard: guardPolicyOf(config, TUNING),
  });
  let agents: MemAgentServer | undefined;
  const land = createLand({
    clock,
    random,
    report: (record) => agents?.report(record) ?? Promise.reject(new Error('nobody listens')),
    bootMs: options.bootMs ?? 60_000,
  });
  const provider = createMemProvider(
    {
      devicePrefix: 'machine-',
      instanceSetId: INSTANCE_SET,
      reservations: options.machines ?? 3,
      ...(options.locations && { locations: options.locations }),
      provisioningMs: 120_000,
      latencyMs: 0,
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
  let sweeps = 0;
  const counted: Bmdb = {
    ...bmdb,
    sweep: () => {
      sweeps += 1;
      return bmdb.sweep();
    },
  };
  const same = <Part>(part: Part): Part => part;
  const { driven = same, shell = same, bmdb: changed = same, isListening } = options;
  const { driver } = provider;
  const ports = memPorts({
    clock,
    random,
    log,
    bmdb: changed(counted),
    shell: shell(createFakeShell({ hosts: land.hosts, clock })),
    drivers: [{ ...driver, open: (...about) => driven(driver.open(...about)) }],
    agents: isListening ? { isReady: isListening } : {},
    onAgentServer: (server) => (agents = server),
  });
  let daemon: Daemon | undefined;
  const parts = () => {
    if (!daemon) throw new Error('the daemon is not started yet');
    return daemon.parts;
  };
  return {
    clock,
    random,
    bmdb,
    provider,
    log,
    hosts: land.hosts,
    metrics: ports.metrics,
    get views() {
      const entries = daemon?.board.entries ?? [];
      return new Map([...entries].map(([slot, { view }]) => [slot, view]));
    },
    sweeps: () => sweeps,
    async fleet() {
      const { inspect = null } = options;
      daemon = await startDaemon({ config, ports: { ...ports, inspect }, version: '0.0.0' });
      return daemon.supervisor;
    },
    end: () => land.end(),
    get desk() {
      return parts().desk;
    },
    get keeper() {
      return parts().keeper;
    },
    get mirror() {
      return parts().mirror;
    },
    get board() {
      return parts().board;
    },
    get watch() {
      return parts().watch;
    },
    get permits() {
      return parts().permits;
    },
  };
}

/** The defaults, as users have them, but for what the options say. */
function smallConfig({ places = 4, provisioner, ladder }: SmallWorldOptions): Config {
  const input: ConfigInput = {
    database: { embedded: { dataDir: 'unused' } },
    session: { interval: '10s' },
    providers: {
      [PROVIDER]: {
        driver: 'stub',
        instanceSetId: INSTANCE_SET,
        callsPerSecond: 0,
        recoveryMayEraseDisks: true,
      },
    },
    provisioner: { maxMachines: 0, ...provisioner },
    agent: { endpoint: '192.0.2.100:7000' },
    ssh: { keyPath: 'unused' },
    agentServer: { devCertificates: { dir: 'unused' } },
    initializer: { loopParallelism: places },
    recoverer: { loopParallelism: places, ...(ladder && { ladder }) },
  };
  return parseConfig(input, { baseDirectory: '/nonexistent' });
}
