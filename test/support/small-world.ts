import { createHash } from 'node:crypto';
import { EventEmitter } from 'node:events';
import { createActor } from 'xstate';
import { createBoard, type Board } from '../../src/actors/board.ts';
import { createDesk, type Desk } from '../../src/actors/turns/desk.ts';
import { createMirror, type Mirror } from '../../src/actors/mirror/mirror.ts';
import { createGuardWatch, type GuardWatch } from '../../src/actors/guard/watch.ts';
import { createPermitQueue, type PermitQueue } from '../../src/actors/turns/permit-queue.ts';
import { provideFleet, type ProvideDeps } from '../../src/actors/provide.ts';
import type { ProvisionLimits } from '../../src/actors/provisioning/deps.ts';
import { createSessionKeeper, type SessionKeeper } from '../../src/actors/session-keeper.ts';
import { createMemAgentServer } from '../doubles/mem-agent-server.ts';
import { createTakeoverProtocol } from '../../src/adapters/agents/takeover-protocol.ts';
import { createMemBmdb, type MemBmdb } from '../doubles/mem-bmdb/mem-bmdb.ts';
import type { Bmdb } from '../../src/adapters/bmdb/port.ts';
import type { Random } from '../../src/adapters/clock/port.ts';
import {
  createSeededRandom,
  createSimulatedClock,
  type VirtualClock,
} from '../doubles/simulated-clock.ts';
import { createMemMetrics, type MemMetrics } from '../doubles/mem-metrics.ts';
import { createMemProvider, type MemProvider } from '../doubles/mem-provider.ts';
import { provisionParts } from './provision-parts.ts';
import { createFakeHost, createFakeShell, type FakeHost } from '../doubles/fake-shell.ts';
import { AGENT_START_BACKOFF, RECOVERY_BACKOFF } from '../../src/domain/backoff.ts';
import { machineId } from '../../src/domain/ids.ts';
import type { ProviderMachine } from '../../src/domain/machine.ts';
import { DEFAULT_BUDGET, DEFAULT_LOSS } from '../../src/domain/policy.ts';
import { DEFAULT_GUARD, type GuardPolicy } from '../../src/domain/recovery/guard-judgement.ts';
import { ERASING_LADDER } from '../../src/domain/recovery/ladder.ts';
import type { MachineView } from '../../src/domain/view.ts';
import { takeoverInitCodec, takeoverResponseCodec } from '../../src/wire/codec.ts';
import { clockScheduler } from './clock-scheduler.ts';
import { PROVIDER } from './facts.ts';
import { recordingLog, type RecordingLog } from '../doubles/recording-log.ts';

const AGENT_PATH = '/root/agent';
const content = Buffer.from('the agent');

/** A whole daemon in memory and in virtual time: the real parts over in-memory adapters. */
export interface SmallWorld {
  readonly clock: VirtualClock;
  readonly random: Random;
  readonly bmdb: MemBmdb;
  readonly provider: MemProvider;
  /** Machines that came up, by address. Their agents report until they reboot or are silenced. */
  readonly hosts: ReadonlyMap<string, SimulatedMachine>;
  readonly desk: Desk;
  readonly keeper: SessionKeeper;
  readonly mirror: Mirror;
  readonly board: Board;
  readonly watch: GuardWatch;
  readonly permits: PermitQueue;
  readonly metrics: MemMetrics;
  readonly log: RecordingLog;
  readonly deps: ProvideDeps;
  /** What the mirror said last of each slot. */
  readonly views: ReadonlyMap<string, MachineView>;
  /** Sweeps so far, one per period while the services of a session run undisturbed. */
  sweeps(): number;
  /** Starts the supervisor. */
  fleet(): ReturnType<typeof startFleet>;
  /** Stops what plays the world, so that nothing but the daemon's own timers can be left. */
  end(): void;
}

export interface SimulatedMachine extends FakeHost {
  /** Ends the agent; the machine itself lives on. */
  killAgent(): void;
  readonly executions: number;
}

export interface SmallWorldOptions {
  readonly machines?: number;
  /** Reservations by location, instead of `machines` in one. */
  readonly locations?: Readonly<Record<string, number>>;
  readonly seed?: number;
  readonly places?: number;
  readonly machinesMax?: number;
  readonly limits?: Partial<ProvisionLimits>;
  /** A part of the dependencies, replaced. */
  readonly change?: (deps: ProvideDeps) => ProvideDeps;
  readonly bootMs?: number;
  readonly guard?: Partial<GuardPolicy>;
  /** Whether the agent server takes calls; always when absent. */
  readonly isListening?: () => boolean;
  /** The database as the mirror reads it. */
  readonly reader?: (bmdb: Bmdb) => Bmdb;
}

const startFleet = (deps: ProvideDeps) => {
  const actor = createActor(provideFleet(deps), {
    clock: deps.clock,
    input: { sessionIntervalMs: 10_000, sessionRetryMs: 500, assessMs: DEFAULT_GUARD.assessMs },
  });
  return actor.start();
};

export function createSmallWorld(options: SmallWorldOptions = {}): SmallWorld {
  const clock = createSimulatedClock();
  const guardPolicy = { ...DEFAULT_GUARD, ...options.guard };
  const random = createSeededRandom(options.seed ?? 1);
  const log = recordingLog();
  const metrics = createMemMetrics();
  const bmdb = createMemBmdb({
    clock,
    random,
    loss: DEFAULT_LOSS,
    budget: DEFAULT_BUDGET,
    guard: guardPolicy,
  });
  const agents = createMemAgentServer({
    store: bmdb.heartbeats,
    clock,
    log,
    isReady: () => options.isListening?.() ?? true,
  });
  const land = createLand({
    clock,
    random,
    report: agents.report,
    bootMs: options.bootMs ?? 60_000,
  });
  const provider = createMemProvider(
    {
      devicePrefix: 'machine-',
      instanceSetId: 'small-world',
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
  const providers = new Map([[PROVIDER, provider]]);
  const views = new Map<string, MachineView>();
  const board = createBoard({
    nowMs: () => mirror.nowMs(),
    metrics,
    changes: { next: () => undefined },
  });
  const watch = createGuardWatch({
    policy: guardPolicy,
    heartbeatMs: DEFAULT_LOSS.heartbeatMs,
    nowMs: () => mirror.nowMs(),
    clock,
    metrics,
    log,
    onChange: () => permits.reconsider(),
  });
  const permits = createPermitQueue({ budget: DEFAULT_BUDGET, barOf: watch.barOf });
  const mirror: Mirror = createMirror({
    bmdb: options.reader?.(bmdb) ?? bmdb,
    providers,
    heard$: agents.heard$,
    loss: DEFAULT_LOSS,
    scanMs: 60_000,
    scanGapMs: 250,
    pollMs: null,
    listMs: 60_000,
    clock,
    random,
    scheduler: clockScheduler(clock),
    log,
    onFacts: permits.offer,
    onView: (view) => {
      views.set(view.slot, view);
      board.onView(view);
    },
    onVanished: (slot) => {
      views.delete(slot);
      board.onVanished(slot);
    },
  });
  const keeper = createSessionKeeper({ bmdb, component: 'shepherd', runtimeInfo: 'test', log });
  const places = options.places ?? 4;
  const desk = createDesk({
    places: { agentStart: places, recovery: places, deprovision: places },
    unusedMs: 5_000,
    clock,
    log,
  });
  const shell = createFakeShell({ hosts: land.hosts, clock });
  const tasks = {
    desk,
    keeper,
    providers,
    shell,
    clock,
    metrics,
    log,
    ssh: { port: 22, policyOf: () => 'tofu' as const },
  };
  const parts = provisionParts({
    bmdb,
    keeper,
    providers,
    clock,
    random,
    log,
    metrics,
    holdRows: mirror.providerHolds,
    facts: mirror.facts,
    nowMs: mirror.nowMs,
    limits: { machinesMax: options.machinesMax ?? 0, ...options.limits },
    maxAgeMs: 30_000,
  });
  const deps: ProvideDeps = {
    takeOver: {
      ...tasks,
      agent: { file: { content, sha256: sha256(content), mode: 0o755 }, targetPath: AGENT_PATH },
      protocol: createTakeoverProtocol({
        endpoint: '192.0.2.100:7000',
        caCertificate: new Uint8Array(0),
      }),
      backoff: AGENT_START_BACKOFF,
    },
    recover: {
      ...tasks,
      holds: parts.holds,
      random,
      backoff: RECOVERY_BACKOFF,
      facts: mirror.facts,
      ladder: () => ERASING_LADDER,
      agentPath: AGENT_PATH,
      pollMs: 5_000,
      askAgainMs: 300_000,
      nowMs: mirror.nowMs,
    },
    deprovision: parts.deprovision(tasks),
    provision: parts.provision,
    update: parts.update,
    turns: {
      desk,
      keeper,
      permits,
      clock,
      random,
      sessions: mirror.sessions,
      facts: mirror.facts,
      headStartMs: 1_000,
    },
    guard: { bmdb, keeper, mirror, watch, log, headStartMs: 1_000, isTakingIn: agents.isTakingIn },
    desk,
    keeper,
    mirror,
    clock,
    log,
    metrics,
    sweep: async () => {
      sweeps += 1;
      await bmdb.sweep();
    },
    periods: { sweepMs: 10_000, updateMs: 60_000, reconcileMs: 60_000, drainMs: 20_000 },
    inspectCell: () => board.inspect,
  };
  let sweeps = 0;
  const all = options.change?.(deps) ?? deps;
  return {
    clock,
    random,
    bmdb,
    provider,
    desk,
    keeper,
    mirror,
    board,
    metrics,
    log,
    views,
    watch,
    permits,
    hosts: land.hosts,
    deps: all,
    sweeps: () => sweeps,
    fleet: () => startFleet(all),
    end: () => land.end(),
  };
}

const sha256 = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex');

interface LandOptions {
  readonly clock: VirtualClock;
  readonly random: Random;
  readonly bootMs: number;
  readonly report: ReturnType<typeof createMemAgentServer>['report'];
}

/** The machines themselves, and the agents that run on them. */
function createLand({ clock, random, report, bootMs }: LandOptions) {
  const hosts = new Map<string, SimulatedMachine>();
  const ended = new EventEmitter().setMaxListeners(0);
  const timers = new Set<unknown>();
  let count = 0;

  const later = (fn: () => void, ms: number) => {
    const timer = clock.setTimeout(() => {
      timers.delete(timer);
      fn();
    }, ms);
    timers.add(timer);
  };

  function agentOn(host: SimulatedMachine, id: string, publicKey: Buffer) {
    const { bootId } = host;
    let alive = true;
    ended.on('agent', (dead: SimulatedMachine) => {
      if (dead === host) alive = false;
    });
    const beat = () => {
      if (!alive || host.bootId !== bootId) return;
      // Cut off, it tries again and again.
      if (!host.unreachable) {
        report({ machineId: machineId(id), publicKey, bootId }).catch(() => undefined);
      }
      later(beat, DEFAULT_LOSS.periodMs);
    };
    later(beat, 1_000);
  }

  function takeover(host: SimulatedMachine, stdin: Buffer) {
    const init = takeoverInitCodec.decode(stdin);
    const key = Buffer.from(random.uuid().replaceAll('-', '').repeat(2), 'hex');
    agentOn(host, init.machineId ?? '', key);
    return { stdout: takeoverResponseCodec.encode({ success: { initMessage: init, key } }) };
  }

  const fall = (address: string) => {
    const host = hosts.get(`${address}:22`)!;
    host.unreachable = true;
    host.killAgent();
  };
  /** With a first-boot script it is a new system: another host key, another secret, an empty disk. */
  const rise = (address: string, initCommand: string | null) => {
    const host = hosts.get(`${address}:22`)!;
    later(() => {
      host.bootId = random.uuid();
      host.unreachable = false;
      if (initCommand === null) return;
      host.hostKey = `key of ${address} since ${host.bootId}`;
      host.secret = secretIn(initCommand);
      host.files.clear();
    }, bootMs);
  };

  return {
    hosts,
    raise(_: ProviderMachine, initCommand: string): string {
      count += 1;
      const address = `192.0.2.${count}`;
      let executions = 0;
      const host: SimulatedMachine = Object.assign(
        createFakeHost({
          bootId: random.uuid(),
          hostKey: `key of ${address}`,
          secret: secretIn(initCommand),
        }),
        {
          killAgent: () => void ended.emit('agent', host),
          run: ([path, ...args]: readonly string[], stdin: Buffer) => {
            if (path === 'sh' && args[2] === 'stop-agent') {
              host.killAgent();
              return {};
            }
            if (path !== AGENT_PATH || !host.files.has(AGENT_PATH)) return { exitCode: 127 };
            executions += 1;
            return takeover(host, stdin);
          },
        },
      ) as SimulatedMachine;
      Object.defineProperty(host, 'executions', { get: () => executions });
      hosts.set(`${address}:22`, host);
      return address;
    },
    reboot(address: string) {
      fall(address);
      rise(address, null);
    },
    down: fall,
    up: rise,
    end() {
      for (const timer of timers) clock.clearTimeout(timer);
      ended.removeAllListeners();
    },
  };
}

const secretIn = (initCommand: string): string | null =>
  /^printf %s (\S+)/m.exec(initCommand)?.[1] ?? null;
