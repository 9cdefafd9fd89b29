import { createPoolsBoard, type PoolsBoard } from '../../src/actors/balancing/board.ts';
import { balancers, type BalancersDeps } from '../../src/actors/balancing/balancers.ts';
import type { WishBook } from '../../src/actors/balancing/wishes.ts';
import { createLeases } from '../../src/actors/leases.ts';
import { createSessionKeeper, type SessionKeeper } from '../../src/actors/session-keeper.ts';
import type { LoadBalancer } from '../../src/adapters/balancer/port.ts';
import type { MemberRow, Wish } from '../../src/domain/balancing/members.ts';
import type { PoolRow } from '../../src/domain/balancing/pool-row.ts';
import type { Pool } from '../../src/domain/balancing/pools.ts';
import type { MachineId } from '../../src/domain/ids.ts';
import type { PoolVerb } from '../../src/domain/machine.ts';
import { DEFAULT_BUDGET, DEFAULT_LOSS } from '../../src/domain/policy.ts';
import { createActor } from 'xstate';
import { createMemBmdb, type MemBmdb } from '../doubles/mem-bmdb/mem-bmdb.ts';
import { emptyRow, newMachine } from '../doubles/mem-bmdb/tables.ts';
import { createMemMetrics } from '../doubles/mem-metrics.ts';
import { recordingLog, type RecordingLog } from '../doubles/recording-log.ts';
import { createSeededRandom } from '../doubles/simulated-clock.ts';
import type { Clock } from '../../src/adapters/clock/port.ts';
import { pool as poolOf, IP } from '../domain/balancing/pool.ts';
import { SLOT } from './facts.ts';
import { runService } from './run-service.ts';

export interface BalancingStandOptions {
  readonly clock: Clock;
  readonly pools?: readonly Pool[];
  /** By name. */
  readonly balancers: Readonly<Record<string, LoadBalancer>>;
  readonly bmdb?: (bmdb: MemBmdb) => MemBmdb;
}

/** A database in memory, balancers, what is wished of machines, and daemons that come and go. */
export type BalancingStand = ReturnType<typeof createBalancingStand>;

export const serve = (machineId: MachineId, address = IP[machineId]!): Wish => ({
  want: 'serve',
  slot: SLOT,
  machineId,
  address,
});
export const drain = (
  machineId: MachineId,
  change: Partial<Extract<Wish, { want: 'drain' }>> = {},
): Wish => ({
  want: 'drain',
  slot: SLOT,
  machineId,
  reason: 'ann asked for reboot: test',
  force: false,
  askedAtMs: 1,
  ...change,
});
export const drop = (machineId: MachineId): Wish => ({
  want: 'drop',
  slot: SLOT,
  machineId,
  reason: 'it is silent',
});
export const keep = (machineId: MachineId): Wish => ({
  want: 'keep',
  slot: SLOT,
  machineId,
  reason: 'the guard is frozen',
});

export function createBalancingStand(options: BalancingStandOptions) {
  const { clock, pools = [poolOf()] } = options;
  const random = createSeededRandom(1);
  const log = recordingLog();
  const metrics = createMemMetrics();
  const bmdb = createMemBmdb({ clock, random, loss: DEFAULT_LOSS, budget: DEFAULT_BUDGET });
  const wishes = new Map<MachineId, Wish>();
  const callbacks = new Set<() => void>();
  let isKnown = true;
  let asked = 0;
  const book: WishBook = {
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

  async function life(): Promise<StandLife> {
    const own = options.bmdb?.(bmdb) ?? bmdb;
    const keeper = createSessionKeeper({
      bmdb: own,
      log,
      component: 'shepherd',
      runtimeInfo: 'test',
    });
    await runService(keeper.services.openSession, { intervalMs: 20 * 86_400_000 }).result;
    const board = createPoolsBoard();
    const deps: BalancersDeps = {
      pools,
      balancers: new Map(
        Object.entries(options.balancers).map(([name, balancer]) => [
          name,
          { name, driver: 'memory', balancer },
        ]),
      ),
      mirror: {
        readFleet: (signal) => own.scan(signal),
        facts: () => new Map(),
        pools: () => [...bmdb.tables.pools.values()],
      },
      isKnown: () => isKnown,
      wishes: book,
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
    const service = createActor(balancers(deps), { clock }).start();
    return {
      keeper,
      board,
      async stop() {
        service.stop();
        await keeper.close();
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
    /** A line for each member: its state, and how it was let go. */
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
    /** Replaces what is wished of these machines, which are there then. */
    wish: (...those: readonly Wish[]) => {
      for (const wish of those) {
        const { machineId } = wish;
        if (!bmdb.tables.machines.has(machineId)) {
          bmdb.tables.machines.set(machineId, newMachine(emptyRow(machineId, clock.now())));
        }
        wishes.set(machineId, wish);
      }
      tell();
    },
    /** Nothing is known of the machine any more. */
    forget: (machineId: MachineId) => {
      wishes.delete(machineId);
      tell();
    },
    /** An operator asks something of the pool, and a daemon has carried it out. */
    ask: async (verb: PoolVerb) => {
      const key = `ask-${++asked}`;
      const what = { verb, pool: pools[0]!.pool, balancer: null } as const;
      await bmdb.requests.file({ key, by: 'ann', reason: 'test', what });
      const session = await bmdb.openSession({
        component: 'operator',
        runtimeInfo: 'test',
        intervalMs: 3_600_000,
      });
      await session.settle(key);
      await session.close();
    },
    know: (is: boolean) => (isKnown = is),
    tell,
  };
}

export interface StandLife {
  readonly keeper: SessionKeeper;
  readonly board: PoolsBoard;
  /** The daemon ends in order; what is at the balancer stays. */
  stop(): Promise<void>;
  /** Of the chart of a pool at a balancer. */
  state(balancer?: string, pool?: string): string;
}

export type { RecordingLog };
