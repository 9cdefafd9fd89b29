import { createHash } from 'node:crypto';
import type { MemberChange } from '../../adapters/bmdb/port.ts';
import { desiredOf, machineOf, type PlacedMember } from '../../domain/balancing/desired.ts';
import type { MemberRow } from '../../domain/balancing/members.ts';
import {
  keyOf,
  OBJECT_KINDS,
  type Desired,
  type Observed,
  type Ref,
} from '../../domain/balancing/objects.ts';
import { type Alarm, newPool, type PoolRow } from '../../domain/balancing/pool-row.ts';
import type { Plan, BalancerRefusal } from '../../domain/balancing/plan.ts';
import type { Pool } from '../../domain/balancing/pools.ts';
import {
  forgetAll,
  newRemembered,
  remember,
  sightsOf,
  type Sight,
} from '../../domain/balancing/member-readings.ts';
import { RECALL_MS, retryMs } from '../../domain/balancing/waiting.ts';
import { HEALED_MS, type Trouble } from '../../domain/balancing/matches.ts';
import { memberAddress } from '../../domain/balancing/desired-member.ts';
import { codeOf, explain, LeaseLost } from '../../domain/errors.ts';
import type { MachineId } from '../../domain/ids.ts';
import { balancerJob, type BalancingDeps, type OpenBalancer } from './deps.ts';

/** The objects seen at the balancer. */
export interface BalancerReading {
  readonly objects: readonly Observed[];
  readonly sights: ReadonlyMap<MachineId, Sight>;
  /** Number of ended changes at the balancer when this look began, with none under way. */
  readonly change: number;
  /** Database clock. */
  readonly atMs: number;
  /** All was read anew; otherwise object contents may come from memory. */
  readonly isFull: boolean;
}

/** An object that must become ready. */
export interface Awaited {
  readonly ref: Ref;
  readonly key: string;
}

/** Calls of the balancer fail. */
interface Away {
  readonly sinceMs: number;
  readonly why: string;
  readonly failures: number;
  /** When members look again unless another look came first; database clock. */
  readonly againAtMs: number;
}
/** Longest interval between looks while members wait for a balancer. */
const AWAY_LONGEST_MS = 60_000;

/** All state of one pool at one balancer besides its chart; lost at the daemon's end. */
export type PoolService = ReturnType<typeof createPoolService>;

/** A call that changes something at the balancer. */
export interface Change {
  /** Checked just before the call. */
  isWanted(): boolean;
  call(options: { readonly signal: AbortSignal }): Promise<unknown>;
}
/** The result; false: the change was no longer wanted. */
export type Changed = PromiseSettledResult<boolean>;

/** Errors that do not prove an unreachable balancer. */
const UNDERSTOOD: ReadonlySet<string> = new Set([
  'remote-failure',
  'cancelled',
  'not-found',
  'throttled',
]);

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

export function createPoolService(
  deps: BalancingDeps,
  pool: Pool,
  open: OpenBalancer,
  stopping: AbortSignal,
) {
  const { clock, log, metrics, nowMs } = deps;
  const { balancer } = open;
  const name = { pool: pool.pool, balancer: open.name };
  const labels = { driver: open.driver, lb: open.name, pool: pool.pool };
  const job = balancerJob(open.name);
  const rows = new Map<MachineId, MemberRow>();
  const troubles = new Map<string, Trouble>();
  const refusals = new Map<string, BalancerRefusal>();
  const memory = newRemembered();
  let seen: BalancerReading | null = null;
  /** Start of the last full read, monotonic; null: the next read must be full. */
  let fullAtMs: number | null = null;
  let change = 0;
  let changing = 0;
  let last: Promise<unknown> = Promise.resolve();
  let unreachable: Away | null = null;
  let whole = new Set<MachineId>();

  /** Runs tasks one after the other, whatever their results. */
  const exclusive = <T>(task: () => Promise<T>): Promise<T> => {
    const mine = last.then(task, task);
    last = mine.catch(() => undefined);
    return mine;
  };
  /** After a long stop of the process, the session may have ended before its timers fire. */
  const isOver = () => deps.keeper.require().remainingMs() <= 0;
  const lease = () => {
    // By then, the job may be ours again under a newer actor.
    const held = stopping.aborted || isOver() ? null : deps.leases.held(job);
    if (!held) throw new LeaseLost(`this daemon no longer holds the job ${job}`);
    return held;
  };
  const reached = () => {
    if (unreachable) log.info(name, 'the balancer answers again');
    unreachable = null;
  };
  const missed = (error: unknown) => {
    const why = explain(error);
    const failures = (unreachable?.failures ?? 0) + 1;
    const againAtMs = nowMs() + Math.min(AWAY_LONGEST_MS, retryMs(failures, null));
    unreachable = { sinceMs: unreachable?.sinceMs ?? nowMs(), why, failures, againAtMs };
  };
  const changeOne = async ({ isWanted, call }: Change): Promise<boolean> => {
    if (!isWanted()) return false;
    const session = deps.keeper.require();
    lease();
    changing += 1;
    try {
      await call({ signal: AbortSignal.any([session.signal, stopping]) });
      reached();
    } catch (error) {
      if (!UNDERSTOOD.has(codeOf(error))) missed(error);
      throw error;
    } finally {
      changing -= 1;
      change += 1;
    }
    return true;
  };
  /** The same for a caller that already has exclusive access. */
  const changeAllInTurn = (changes: readonly Change[]): Promise<readonly Changed[]> =>
    Promise.allSettled(changes.map(changeOne));
  const fresh = (): BalancerReading | null =>
    seen?.change === change && changing === 0 ? seen : null;
  const standing = (): PoolRow =>
    deps.mirror.pools().find((row) => row.pool === name.pool && row.balancer === name.balancer) ??
    newPool(name);

  /** Addresses of members: as the machines have them now, else as their servers have them. */
  const addressesOf = (members: readonly MemberRow[]): PlacedMember[] => {
    const wishes = deps.wishes.of(pool.pool);
    const facts = deps.mirror.facts();
    let known: Map<MachineId, string> | null = null;
    const seenAt = (machine: MachineId) => {
      known ??= new Map(
        (seen?.objects ?? []).flatMap(({ spec }) =>
          spec.kind === 'server' ? [[machineOf(spec.name), spec.address] as const] : [],
        ),
      );
      return known.get(machine) ?? null;
    };
    return members.map(({ machineId }) => {
      const wish = wishes.get(machineId);
      if (wish?.want === 'serve') return { machineId, address: wish.address };
      const address = wish && (facts.get(wish.slot)?.row?.provided?.address ?? null);
      return { machineId, address: memberAddress(address ?? null) ?? seenAt(machineId) };
    });
  };

  return {
    name,
    labels,
    pool,
    balancer,
    rows,
    troubles,
    refusals,
    memory,
    exclusive,
    lease,
    fresh,
    standing,
    reached,
    missed,
    /** The panic guard's findings about members, and about servers without a reference. */
    alarms: { members: null as Alarm | null, objects: null as Alarm | null },
    /** The panic guard's finding as last written. */
    frozenAs: null as string | null,
    plan: null as Plan | null,
    awaited: [] as readonly Awaited[],
    /** Start of this run and of this wait, monotonic. */
    runBeganAtMs: null as number | null,
    waitBeganAtMs: 0,
    cycles: 0,
    isMoving: false,
    /** An awaited object became ready since the last look at the balancer. */
    isNewlyReady: false,
    /** State of the chart, or of its objects while the pool is managed. */
    state: 'awaitingLease',
    seen: () => seen,
    unreachable: () => unreachable,
    /** Resolves when all work under way has ended. */
    idle: () => last,
    /** Records members with a complete set of servers. @returns whether one lost a server since. */
    takeWhole(): boolean {
      const now = new Set<MachineId>();
      for (const [machine, sight] of seen?.sights ?? []) if (sight.isWhole) now.add(machine);
      const isBroken = [...whole].some(
        (machine) => !now.has(machine) && rows.get(machine)?.state === 'active',
      );
      whole = now;
      return isBroken;
    },
    forgetAll() {
      rows.clear();
      troubles.clear();
      refusals.clear();
      forgetAll(memory);
      seen = null;
      fullAtMs = null;
      unreachable = null;
    },
    /** Makes the next look a full read. */
    distrust: () => void (fullAtMs = null),
    /**
     * Reads all objects at the balancer: a full read at first, after a failure, periodically, and
     * when `full`.
     * @throws {FleetError} the balancer cannot be read; it counts as unreachable.
     */
    async look(signal: AbortSignal, { full = false } = {}): Promise<BalancerReading> {
      const session = deps.keeper.require();
      lease();
      const begun = changing === 0 ? change : -1;
      const begunAtMs = clock.monotonic();
      const mayRecall = !full && fullAtMs !== null && begunAtMs - fullAtMs < RECALL_MS;
      const call = { signal: AbortSignal.any([signal, session.signal, stopping]), mayRecall };
      let objects: readonly Observed[];
      try {
        objects = await balancer.observe(pool, call);
      } catch (error) {
        fullAtMs = null;
        const code = codeOf(error);
        const isPassing = code === 'cancelled' || code === 'throttled';
        if (!call.signal.aborted && !isPassing) missed(error);
        throw error;
      }
      reached();
      if (!mayRecall) fullAtMs = begunAtMs;
      const atMs = nowMs();
      const sights = sightsOf(pool, objects);
      seen = { objects, sights, change: begun, atMs, isFull: !mayRecall };
      const draining = [...rows.values()].filter(({ state }) => state === 'draining');
      remember(memory, seen.sights, new Set(draining.map(({ machineId }) => machineId)), atMs);
      for (const { ref, spec, phase } of objects) {
        const key = keyOf(ref.kind, spec.name);
        const trouble = troubles.get(key);
        if (phase === 'ready' && trouble && atMs > trouble.triedAtMs + HEALED_MS) {
          troubles.delete(key);
        }
      }
      for (const kind of OBJECT_KINDS) {
        const count = objects.filter(({ ref }) => ref.kind === kind).length;
        metrics.count(
          'shepherd_lb_reconcile_retrieved_resources_total',
          { ...labels, type: kind },
          count,
        );
      }
      return seen;
    },
    /**
     * Starts changes at the balancer together, up to its capabilities' limit. They complete even if
     * the requesting step is given up. The end of the session, the daemon, or the job aborts them.
     */
    changeAll: (signal: AbortSignal, changes: readonly Change[]): Promise<readonly Changed[]> =>
      exclusive(() => {
        signal.throwIfAborted();
        return changeAllInTurn(changes);
      }),
    changeAllInTurn,
    /**
     * Writes member rows and adopts the database's answer. Requires exclusive access.
     * @returns members that were not written, such as machines with work under way.
     */
    async write(changes: readonly MemberChange[]): Promise<ReadonlySet<MachineId>> {
      const refused = new Set<MachineId>();
      if (changes.length === 0) return refused;
      const repository = deps.keeper.require().balancing;
      for (const { machineId, result, row } of await repository.write(lease(), name, changes)) {
        if (row) rows.set(machineId, row);
        else rows.delete(machineId);
        if (result !== 'written') refused.add(machineId);
      }
      return refused;
    },
    /** The desired objects according to the current rows. */
    desired(): readonly Desired[] {
      const isNative = balancer.capabilities.drain === 'native';
      const members = [...rows.values()].filter(
        ({ state }) => state !== 'drained' && (isNative || state !== 'draining'),
      );
      if (standing().tornDown && ![...rows.values()].some(({ state }) => state !== 'drained')) {
        return [];
      }
      return desiredOf(pool, addressesOf(members), sha256).objects;
    },
  };
}
