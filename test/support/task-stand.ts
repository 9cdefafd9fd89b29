import { expect, onTestFinished } from 'vitest';
import { createActor, type AnyActorLogic } from 'xstate';
import { createTaskPool, type TaskPool, type WorkKind } from '../../src/actors/turns/turns.ts';
import { createHoldKeeper, type HoldKeeper } from '../../src/actors/providers/holds.ts';
import { createSessionKeeper, type SessionKeeper } from '../../src/actors/session-keeper.ts';
import type { EvidenceDeps } from '../../src/actors/tasks/evidence.ts';
import { createMemBmdb, type MemBmdb } from '../doubles/mem-bmdb/mem-bmdb.ts';
import { rowOf } from '../doubles/mem-bmdb/rows.ts';
import { newMachine } from '../doubles/mem-bmdb/tables.ts';
import type { RecoverDeps } from '../../src/actors/tasks/recovery/services.ts';
import type { Random } from '../../src/adapters/clock/port.ts';
import { createSeededRandom, createSimulatedClock, settled } from '../doubles/simulated-clock.ts';
import type { VirtualClock } from '../doubles/simulated-clock.ts';
import { createMemMetrics, type MemMetrics } from '../doubles/mem-metrics.ts';
import { createFakeHost, createFakeShell, type FakeHost } from '../doubles/fake-shell.ts';
import type { Capabilities } from '../../src/adapters/provider/port.ts';
import type { RemoteShell } from '../../src/adapters/ssh/port.ts';
import { RECOVERY_BACKOFF } from '../../src/domain/backoff.ts';
import { ProviderError } from '../../src/domain/errors.ts';
import type {
  Controller,
  MachineRow,
  ProviderMachine,
  ProviderStatus,
} from '../../src/domain/machine.ts';
import { DEFAULT_BUDGET, DEFAULT_LOSS, type HostKeyPolicy } from '../../src/domain/policy.ts';
import { calmRow, DEFAULT_GUARD, FLEET } from '../../src/domain/recovery/guard-judgement.ts';
import { ERASING_LADDER } from '../../src/domain/recovery/ladder.ts';
import type { TaskResult } from '../../src/machines/task.ts';
import { device, machineRow, MACHINE, PROVIDER, SLOT, slotFacts } from './facts.ts';
import { recordingLog, type RecordingLog } from '../doubles/recording-log.ts';
import { JOB, runService } from './run-service.ts';
import { scriptedProvider } from '../doubles/scripted-provider.ts';

export { JOB };
/** Longer than any test waits. */
const SESSION_MS = 20 * 24 * 3_600_000;

/** One machine, its provider and an in-memory BMDB, on which a task's services work. */
export interface TaskStand {
  readonly clock: VirtualClock;
  readonly random: Random;
  readonly bmdb: MemBmdb;
  readonly taskPool: TaskPool;
  readonly keeper: SessionKeeper;
  readonly holds: HoldKeeper;
  readonly log: RecordingLog;
  readonly metrics: MemMetrics;
  readonly host: FakeHost;
  /** Actions on the machine and calls to its provider, in order. */
  readonly done: string[];
  /** Answers the provider's `getMachine`. */
  whereIs: () => Promise<ProviderMachine>;
  /** Answers the provider's `rebootMachine`. */
  reboot: () => Promise<string>;
  /** Whether the provider asks the machine's system to reboot gracefully. */
  isGraceful: boolean;
  /** Answers the provider's `reinstallMachine`. */
  reinstall: () => Promise<string>;
  /** Answers the provider's `resetController`. */
  resetController: () => Promise<string>;
  /** The machine's BMC in the provider's listing. */
  controller: Controller | null;
  /** What the provider's last listing says that the machine lacks. */
  lacks: ProviderMachine['lacks'];
  /** Answers the provider's `setPower`; by default the power changes as requested. */
  setPower: (want: 'on' | 'off') => Promise<string>;
  /** The provider's view of the machine, unless `whereIs` overrides it. */
  power: ProviderMachine['power'];
  status: ProviderStatus;
  /** The provider's capabilities. */
  capabilities: Capabilities;
  /** Error of the connection attempt, instead of a connection. */
  connecting: Error | null;
  deps(policy?: HostKeyPolicy): EvidenceDeps;
  recoverDeps(change?: Partial<RecoverDeps>): RecoverDeps;
  /** Puts the machine into the BMDB. */
  given(change?: Partial<MachineRow>): void;
  row(): MachineRow;
  openSession(intervalMs?: number): Promise<void>;
  grant(kind: WorkKind): Promise<void>;
  /** Runs a task's chart as the lifecycle does: with a permit that ends with the task. */
  runTask(kind: WorkKind, logic: AnyActorLogic): Promise<TaskResult>;
}

/** Creates the stand in a test or its `beforeEach`. It closes itself at the end without timers. */
export function createTaskStand(): TaskStand {
  const clock = createSimulatedClock();
  const random = createSeededRandom(1);
  const log = recordingLog();
  const metrics = createMemMetrics();
  const bmdb = createMemBmdb({
    clock,
    random,
    loss: DEFAULT_LOSS,
    budget: DEFAULT_BUDGET,
    guard: { ...DEFAULT_GUARD, ingestGapMs: SESSION_MS },
  });
  takeInHeartbeats(bmdb, clock.now());
  const keeper = createSessionKeeper({ bmdb, component: 'shepherd', runtimeInfo: 'test', log });
  const places = { agentStart: 1, recovery: 1, deprovision: 1 };
  const taskPool = createTaskPool({ places, unusedMs: 5_000, clock, log });
  const host = createFakeHost();
  const done: string[] = [];
  /** Checks the ownership, as the core does before each change. */
  async function requireOurs(): Promise<void> {
    const { ownership } = await stand.whereIs();
    if (ownership !== 'ours') throw new ProviderError('conflict', `it is ${ownership}`);
  }
  const provider = scriptedProvider({
    getMachine: () => stand.whereIs(),
    rebootMachine: async (_, mode, { beforeSending }) => {
      await requireOurs();
      await beforeSending?.();
      done.push(`reboot ${mode}`);
      const operationRef = await stand.reboot();
      return { operationRef, isGraceful: stand.isGraceful && mode === 'graceful' };
    },
    reinstallMachine: async (_, { beforeSending }) => {
      await requireOurs();
      await beforeSending?.();
      done.push('reinstall');
      return { operationRef: await stand.reinstall() };
    },
    resetController: async (_, { beforeSending }) => {
      await beforeSending?.();
      done.push('reset controller');
      return { operationRef: await stand.resetController() };
    },
    setPower: async (_, want, { beforeSending }) => {
      await requireOurs();
      await beforeSending?.();
      done.push(`power ${want}`);
      return { operationRef: await stand.setPower(want) };
    },
  });
  const { capabilities } = provider;
  Object.defineProperty(provider, 'capabilities', { get: () => stand.capabilities });
  const fake = createFakeShell({ hosts: new Map([['192.0.2.1:22', host]]), clock });
  const shell = watched(fake, done, () => stand.connecting);
  const holds = createHoldKeeper({
    repository: bmdb.providerHolds,
    nowMs: clock.now,
    clock,
    log,
    rows: () => [...bmdb.tables.providerHolds.values()],
  });
  const stand: TaskStand = {
    holds,
    clock,
    random,
    bmdb,
    taskPool,
    keeper,
    log,
    metrics,
    host,
    done,
    whereIs: async () => {
      const { power, status } = stand;
      return device({ address: '192.0.2.1', power, status });
    },
    reboot: async () => 'operation-1',
    isGraceful: false,
    reinstall: async () => 'operation-1',
    resetController: async () => 'operation-1',
    controller: null,
    lacks: undefined,
    setPower: async (want) => {
      stand.power = want;
      return 'operation-1';
    },
    power: 'on',
    status: 'Running',
    capabilities,
    connecting: null,
    deps: (policy = 'tofu') => ({
      taskPool,
      keeper,
      shell,
      clock,
      log,
      metrics,
      ...{ cases: bmdb.cases, nowMs: clock.now },
      ssh: { port: 22, policyOf: () => policy },
      providers: new Map([[PROVIDER, provider]]),
    }),
    recoverDeps: (change) => ({
      ...stand.deps(),
      random,
      holds,
      backoff: RECOVERY_BACKOFF,
      agentPath: '/root/agent',
      pollMs: 5_000,
      askAgainMs: 5 * 60_000,
      permits: { missed: () => undefined },
      loss: DEFAULT_LOSS,
      ladder: () => ERASING_LADDER,
      retirement: () => ({ when: 'never', then: 'keep' }),
      facts: () => {
        const row = rowOf(bmdb.tables, bmdb.tables.machines.get(MACHINE)!);
        const { controller, lacks } = stand;
        const shown = { ...(controller && { controller }), ...(lacks && { lacks }) };
        const isListed = Object.keys(shown).length > 0;
        const listed = isListed ? device({ address: '192.0.2.1', ...shown }) : null;
        return new Map([[SLOT, slotFacts({ row, listed, holds: bmdb.tables.holds })]]);
      },
      ...change,
    }),
    given: (change) => void bmdb.tables.machines.set(MACHINE, newMachine(machineRow(change))),
    row: () => bmdb.tables.machines.get(MACHINE)!.row,
    openSession: async (intervalMs = SESSION_MS) => {
      await runService(keeper.services.openSession, { intervalMs }).result;
    },
    grant: (kind) => taskPool.grant(SLOT, kind, new AbortController().signal),
    async runTask(kind, logic) {
      await stand.grant(kind);
      const actor = createActor(logic, { clock, input: JOB });
      const output = new Promise<TaskResult>((resolve) => {
        actor.subscribe((snapshot: { readonly status: string; readonly output: TaskResult }) => {
          if (snapshot.status === 'done') resolve(snapshot.output);
        });
      });
      actor.start();
      return output.finally(() => taskPool.end(SLOT));
    },
  };
  onTestFinished(async () => {
    taskPool.end(SLOT);
    await keeper.close();
    await settled();
    expect(clock.pending, 'timers left').toBe(0);
  });
  return stand;
}

/** Writes what a guard writes that has watched the fleet for long enough. */
function takeInHeartbeats({ tables: { guard } }: MemBmdb, nowMs: number): void {
  const sinceMs = nowMs - SESSION_MS;
  guard.rows.set(FLEET, { ...calmRow(FLEET), ingestUpSinceMs: sinceMs });
  guard.seenAtMs = nowMs;
}

/** A shell that records its calls. */
const watched = (shell: RemoteShell, done: string[], failure: () => Error | null): RemoteShell => ({
  async connect(target, signal) {
    done.push('connect');
    const error = failure();
    if (error) throw error;
    const session = await shell.connect(target, signal);
    return {
      ...session,
      upload: (path, file, ends) => {
        done.push(`upload ${path}`);
        return session.upload(path, file, ends);
      },
      execute: (argv, stdin, ends) => {
        done.push(`execute ${argv.join(' ')}`);
        return session.execute(argv, stdin, ends);
      },
    };
  },
});
