import { createPoolsBoard, type PoolsState } from '../../src/actors/balancing/pools-state.ts';
import { balancers, type BalancersDeps } from '../../src/actors/balancing/balancers.ts';
import type { DesiredMemberRepository } from '../../src/actors/balancing/desired-members.ts';
import { createLeases, type Leases } from '../../src/actors/leases.ts';
import { createSessionKeeper, type SessionKeeper } from '../../src/actors/session-keeper.ts';
import type { LoadBalancer } from '../../src/adapters/balancer/port.ts';
import type { MemberRow, DesiredMember } from '../../src/domain/balancing/members.ts';
import type { PoolRow } from '../../src/domain/balancing/pool-row.ts';
import type { Pool } from '../../src/domain/balancing/pools.ts';
import { slot, type MachineId } from '../../src/domain/ids.ts';
import type { PoolVerb } from '../../src/domain/verbs.ts';
import { DEFAULT_BUDGET, DEFAULT_LOSS } from '../../src/domain/policy.ts';
import { createActor, createMachine, type InspectionEvent } from 'xstate';
import { createMemBmdb, type MemBmdb } from '../doubles/mem-bmdb/mem-bmdb.ts';
import { emptyRow, newMachine } from '../doubles/mem-bmdb/tables.ts';
import { createMemMetrics } from '../doubles/mem-metrics.ts';
import { createProcess } from '../doubles/process.ts';
import { recordingLog, type RecordingLog } from '../doubles/recording-log.ts';
import { createSeededRandom, settled } from '../doubles/simulated-clock.ts';
import type { Clock } from '../../src/adapters/clock/port.ts';
import { pool as poolOf, IP } from '../domain/balancing/pool.ts';
import { interceptPort } from '../simulation/intercept.ts';
import { PROVIDER, provided, slotFacts } from './facts.ts';
import { runService } from './run-service.ts';

export interface BalancingStandOptions {
  readonly clock: Clock;
  readonly pools?: readonly Pool[];
  /** By name. */
  readonly balancers: Readonly<Record<string, LoadBalancer>>;
  readonly bmdb?: (bmdb: MemBmdb) => MemBmdb;
}

/** An in-memory database, balancers, desired members, and daemons that come and go. */
export type BalancingStand = ReturnType<typeof createBalancingStand>;

/** Each machine has its own slot. */
const slotFor = (machineId: MachineId) => slot(PROVIDER, machineId);

export const serve = (machineId: MachineId, address = IP[machineId]!): DesiredMember => ({
  want: 'serve',
  slot: slotFor(machineId),
  machineId,
  address,
});
export const drain = (
  machineId: MachineId,
  change: Partial<Extract<DesiredMember, { want: 'drain' }>> = {},
): DesiredMember => ({
  want: 'drain',
  slot: slotFor(machineId),
  machineId,
  reason: 'ann asked for reboot: test',
  force: false,
  askedAtMs: 1,
  ...change,
});
export const drop = (machineId: MachineId): DesiredMember => ({
  want: 'drop',
  slot: slotFor(machineId),
  machineId,
  reason: 'it is silent',
});
export const keep = (machineId: MachineId): DesiredMember => ({
  want: 'keep',
  slot: slotFor(machineId),
  machineId,
  reason: 'the guard is frozen',
});

export function createBalancingStand(options: BalancingStandOptions) {
  const { clock, pools = [poolOf()] } = options;
  const random = createSeededRandom(1);
  const log = recordingLog();
  const metrics = createMemMetrics();
  const bmdb = createMemBmdb({ clock, random, loss: DEFAULT_LOSS, budget: DEFAULT_BUDGET });
  const wishes = new Map<MachineId, DesiredMember>();
  const callbacks = new Set<() => void>();
  let isKnown = true;
  let asked = 0;
  const repository: DesiredMemberRepository = {
    of: () => wishes,
    onChange: (_, callback) => {
      callbacks.add(callback);
      return () => void callbacks.delete(callback);
    },
    onView: () => undefined,
    onVanished: () => undefined,
    onFacts: () => undefined,
    onGuard: () => undefined,
    stop: () => undefined,
  };
  const tell = () => {
    for (const callback of callbacks) callback();
  };
  const rows = (): MemberRow[] =>
    [...bmdb.tables.machines.values()].flatMap(({ row }) => row.members);

  async function life(how: LifeOptions = {}): Promise<StandLife> {
    const process = createProcess(clock);
    const told = interceptPort(options.bmdb?.(bmdb) ?? bmdb, 'bmdb', {
      async around({ path }, run) {
        const answer = await run();
        if (path === 'bmdb.session.balancing.write') how.onWritten?.();
        return answer;
      },
    });
    const own = process.guard(told);
    const open = Object.entries({ ...options.balancers, ...how.balancers });
    const keeper = createSessionKeeper({
      bmdb: own,
      log,
      component: 'shepherd',
      runtimeInfo: 'test',
    });
    await runService(keeper.services.openSession, { intervalMs: 20 * 86_400_000 }).result;
    const board = createPoolsBoard();
    const deps: BalancersDeps = {
      pools: how.pools ?? pools,
      balancers: new Map(
        open.map(([name, balancer]) => [
          name,
          { name, driver: 'memory', balancer: process.guard(balancer) },
        ]),
      ),
      mirror: {
        readFleet: (signal) => own.scan(signal),
        facts: () =>
          new Map(
            [...bmdb.tables.machines.values()].map(({ row }) => {
              const at = slotFor(row.machineId);
              const there = provided({ address: IP[row.machineId] ?? null });
              return [at, slotFacts({ slot: at, row: { ...row, provided: there } })];
            }),
          ),
        pools: () => [...bmdb.tables.pools.values()],
      },
      isKnown: () => isKnown,
      wishes: repository,
      keeper,
      leases: createLeases({ keeper, holderOf: () => null, clock, random, log, retryMs: 3_000 }),
      nowMs: clock.now,
      clock,
      random,
      log,
      metrics,
      board,
      onPools: (callback) => {
        const subscription = bmdb.wakes$.subscribe(callback);
        return () => subscription.unsubscribe();
      },
    };
    const logic = balancers({ ...deps, inspect: how.inspect });
    const crashes: unknown[] = [];
    // Services report a crash to their parent, which is this chart in place of the supervisor.
    const supervisor = createMachine({
      invoke: { src: logic },
      on: { 'service.crashed': { actions: ({ event }) => void crashes.push(event) } },
    });
    let service = createActor(supervisor, { clock }).start();
    return {
      keeper,
      board,
      leases: deps.leases,
      async renew() {
        service.stop();
        await keeper.close();
        await runService(keeper.services.openSession, { intervalMs: 20 * 86_400_000 }).result;
        service = createActor(supervisor, { clock }).start();
      },
      crashes: () => crashes,
      async stop() {
        if (!process.isAlive) return;
        service.stop();
        // Interrupted calls end before the session does.
        await settled();
        await keeper.close();
      },
      async kill() {
        process.kill();
        const { sessionId } = keeper.require();
        bmdb.tables.sessions.get(sessionId)!.deadlineMs = clock.now() + SESSION_MS;
        // Not during the transition in which it dies.
        await Promise.resolve();
        service.stop();
        for (const balancer of Object.values(how.balancers ?? {})) await balancer.close();
      },
      state: (balancer = 'edge', pool = 'api') =>
        board.tended().find((each) => each.balancer === balancer && each.pool === pool)?.state ??
        'none',
    };
  }

  return {
    clock,
    bmdb,
    log,
    metrics,
    life,
    rows,
    /** One line per member: its state, and how it was released. */
    states: (balancer = 'edge'): Record<string, string> =>
      Object.fromEntries(
        rows()
          .filter((row) => row.balancer === balancer)
          .map(({ machineId, state, how }) => [machineId, how ? `${state} ${how}` : state]),
      ),
    row: (machineId: MachineId, balancer = 'edge') =>
      rows().find((row) => row.machineId === machineId && row.balancer === balancer),
    standing: (balancer = 'edge'): PoolRow | undefined =>
      [...bmdb.tables.pools.values()].find((row) => row.balancer === balancer),
    /** Desired members by machine. */
    wished: (): ReadonlyMap<MachineId, DesiredMember> => wishes,
    /** Replaces the desired members of these machines, which exist from then on. */
    wish: (...those: readonly DesiredMember[]) => {
      for (const wish of those) {
        const { machineId } = wish;
        if (!bmdb.tables.machines.has(machineId)) {
          bmdb.tables.machines.set(machineId, newMachine(emptyRow(machineId, clock.now())));
        }
        wishes.set(machineId, wish);
      }
      tell();
    },
    /** Removes everything known about the machine. */
    forget: (machineId: MachineId) => {
      wishes.delete(machineId);
      tell();
    },
    /** Submits an operator request for the pool, and waits until a daemon has applied it. */
    ask: async (verb: PoolVerb) => {
      const key = `ask-${++asked}`;
      const what = { verb, pool: pools[0]!.pool, balancer: null } as const;
      await bmdb.requests.submit({ key, by: 'ann', reason: 'test', what });
      const session = await bmdb.openSession({
        component: 'operator',
        runtimeInfo: 'test',
        intervalMs: 3_600_000,
      });
      await session.applyRequest(key);
      await session.close();
    },
    know: (is: boolean) => (isKnown = is),
    tell,
  };
}

export interface LifeOptions {
  /** This daemon's configured pools. */
  readonly pools?: readonly Pool[];
  /** Drivers of this daemon alone, because shared drivers would remember its calls. */
  readonly balancers?: Readonly<Record<string, LoadBalancer>>;
  readonly inspect?: (event: InspectionEvent) => void;
  /** Called when members' rows were written and the daemon does not know yet. */
  readonly onWritten?: () => void;
}

export interface StandLife {
  readonly keeper: SessionKeeper;
  readonly board: PoolsState;
  readonly leases: Leases;
  /** Ends the session; the daemon goes on with a new session. */
  renew(): Promise<void>;
  /** Crashed services that were reported to the supervisor. */
  crashes(): readonly unknown[];
  /** Stops the daemon in order; the balancer's objects stay. */
  stop(): Promise<void>;
  /**
   * As `kill -9`: the daemon has no effect from this instant, its calls are cut, and its session
   * ends by itself later.
   */
  kill(): Promise<void>;
  /** State of the chart of a pool at a balancer. */
  state(balancer?: string, pool?: string): string;
}

/** A session outlives its daemon by this time. */
const SESSION_MS = 15_000;

export type { RecordingLog };
