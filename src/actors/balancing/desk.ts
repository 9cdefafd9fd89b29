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
import type { Plan, Refusal } from '../../domain/balancing/plan.ts';
import type { Pool } from '../../domain/balancing/pools.ts';
import {
  forgetAll,
  newRemembered,
  remember,
  sightsOf,
  type Sight,
} from '../../domain/balancing/sights.ts';
import { RECALL_MS, retryMs } from '../../domain/balancing/waiting.ts';
import { HEALED_MS, type Trouble } from '../../domain/balancing/matches.ts';
import { memberAddress } from '../../domain/balancing/wish.ts';
import { codeOf, explain, LeaseLost } from '../../domain/errors.ts';
import type { MachineId } from '../../domain/ids.ts';
import { balancerJob, type BalancingDeps, type OpenBalancer } from './deps.ts';

/** What was seen at the balancer. */
export interface Seen {
  readonly objects: readonly Observed[];
  readonly sights: ReadonlyMap<MachineId, Sight>;
  /** Changes at the balancer that had ended, and none was under way, when this look began. */
  readonly change: number;
  /** Database clock. */
  readonly atMs: number;
  /** Everything was read anew; otherwise what objects hold may be told from memory. */
  readonly isFull: boolean;
}

/** An object that is waited for. */
export interface Awaited {
  readonly ref: Ref;
  readonly key: string;
}

/** Calls of the balancer fail. */
interface Away {
  readonly sinceMs: number;
  readonly why: string;
  readonly failures: number;
  /** Members look again then, if nobody else did; database clock. */
  readonly againAtMs: number;
}
/** Members that wait for a balancer look that often at least. */
const AWAY_LONGEST_MS = 60_000;

/** All that is known of one pool at one balancer beside its chart; nothing of it outlives the daemon. */
export type PoolDesk = ReturnType<typeof createDesk>;

/** A call that changes something at the balancer. */
export interface Change {
  /** Asked at the last moment. */
  isWanted(): boolean;
  call(options: { readonly signal: AbortSignal }): Promise<unknown>;
}
/** What became of it. False: it was not wanted any more. */
export type Changed = PromiseSettledResult<boolean>;

/** Errors that do not tell that the balancer cannot be reached. */
const UNDERSTOOD: ReadonlySet<string> = new Set([
  'remote-failure',
  'cancelled',
  'not-found',
  'throttled',
]);

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

export function createDesk(
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
  const refusals = new Map<string, Refusal>();
  const memory = newRemembered();
  let seen: Seen | null = null;
  /** Monotonic: when the last look began that read everything anew; null: the next one has to. */
  let fullAtMs: number | null = null;
  let change = 0;
  let changing = 0;
  let last: Promise<unknown> = Promise.resolve();
  let unreachable: Away | null = null;
  let whole = new Set<MachineId>();

  /** One after the other, whatever each of them comes to. */
  const exclusive = <T>(task: () => Promise<T>): Promise<T> => {
    const mine = last.then(task, task);
    last = mine.catch(() => undefined);
    return mine;
  };
  /** A process that was stopped for long goes on before its timers tell it that its session is over. */
  const isOver = () => deps.keeper.require().remainingMs() <= 0;
  const lease = () => {
    // By then the job may be ours again, for whoever tends the pool after us.
    const held = stopping.aborted || isOver() ? null : deps.leases.held(job);
    if (!held) throw new LeaseLost(`the job ${job} is not ours any more`);
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
  /** The same for whoever has the turn already. */
  const changeAllInTurn = (changes: readonly Change[]): Promise<readonly Changed[]> =>
    Promise.allSettled(changes.map(changeOne));
  const fresh = (): Seen | null => (seen?.change === change && changing === 0 ? seen : null);
  const standing = (): PoolRow =>
    deps.mirror.pools().find((row) => row.pool === name.pool && row.balancer === name.balancer) ??
    newPool(name);

  /** Addresses of rows: as the machines have them now, else as their servers have them. */
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
    /** What the panic guard found: about members, and about servers that nobody refers to. */
    alarms: { members: null as Alarm | null, objects: null as Alarm | null },
    /** What the panic guard saw, as it was written down last. */
    frozenAs: null as string | null,
    plan: null as Plan | null,
    awaited: [] as readonly Awaited[],
    /** Monotonic: when this run, and this wait, began. */
    runBeganAtMs: null as number | null,
    waitBeganAtMs: 0,
    cycles: 0,
    isMoving: false,
    /** Something that was waited for got ready since the balancer was looked at. */
    isNewlyReady: false,
    /** State of the chart, or of its objects while the pool is tended. */
    state: 'awaitingLease',
    seen: () => seen,
    unreachable: () => unreachable,
    /** Everything under way has ended. */
    idle: () => last,
    /** Members whose servers are all there, as of the last look; answers who lost one since. */
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
    /** The next look reads everything anew. */
    distrust: () => void (fullAtMs = null),
    /**
     * Reads all that is at the balancer: everything anew the first time, after a look that failed, now
     * and then, and when it is to be `full`. @throws {FleetError} it cannot be read; it is unreachable.
     */
    async look(signal: AbortSignal, { full = false } = {}): Promise<Seen> {
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
     * Starts calls together that change something at the balancer, as many as its capabilities say at
     * most. They run to their end although the step that wants them is given up; the end of the
     * session, of the daemon, or of the job ends them.
     */
    changeAll: (signal: AbortSignal, changes: readonly Change[]): Promise<readonly Changed[]> =>
      exclusive(() => {
        signal.throwIfAborted();
        return changeAllInTurn(changes);
      }),
    changeAllInTurn,
    /**
     * Writes members; what is known of them is what the database answers. To be called in turn.
     * @returns those of which nothing was written, such as machines that are being worked on.
     */
    async write(changes: readonly MemberChange[]): Promise<ReadonlySet<MachineId>> {
      const refused = new Set<MachineId>();
      if (changes.length === 0) return refused;
      const book = deps.keeper.require().balancing;
      for (const { machineId, result, row } of await book.write(lease(), name, changes)) {
        if (row) rows.set(machineId, row);
        else rows.delete(machineId);
        if (result !== 'written') refused.add(machineId);
      }
      return refused;
    },
    /** The objects that are to be there, as rows have it now. */
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
