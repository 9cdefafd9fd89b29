import { stepMembers } from '../../../src/domain/balancing/member-steps.ts';
import {
  mayServe,
  otherPlaces,
  type MemberChange,
  type MemberRow,
  type Wish,
} from '../../../src/domain/balancing/members.ts';
import type { ServerMode } from '../../../src/domain/balancing/objects.ts';
import type { Pool } from '../../../src/domain/balancing/pools.ts';
import {
  newRemembered,
  rememberGivenBack,
  type Sight,
} from '../../../src/domain/balancing/sights.ts';
import type { MachineId } from '../../../src/domain/ids.ts';
import { memberRow, SLOT } from '../../support/facts.ts';
import { pool as poolOf } from './pool.ts';

/** A pool at a balancer, whose daemon decides alone. */
export interface PoolAtBalancer {
  readonly pool: Pool;
  readonly balancer: string;
  readonly members: readonly MachineId[];
}

/** An order of an operator for a machine. */
export interface DrainOrder {
  readonly machineId: MachineId;
  readonly fromMs: number;
  /** The machine is given back: after its drain it stays away. */
  readonly leaves: boolean;
  readonly force: boolean;
  /** How long work on the machine takes. */
  readonly workMs: number;
  /** The delay after which each place knows of the order. */
  readonly heardAfterMs: readonly number[];
}

/** From then on a server appears down, for this long. */
export interface Outage {
  readonly place: number;
  readonly machineId: MachineId;
  readonly fromMs: number;
  readonly lengthMs: number;
}

interface MachineLife {
  order: DrainOrder | null;
  busyUntilMs: number;
  isGone: boolean;
}

export const TICK_MS = 10_000;

/** Pools at balancers. Each place decides alone, from slightly old rows of the others. */
export function createPlaces(
  places: readonly PoolAtBalancer[],
  orders: readonly DrainOrder[],
  outages: readonly Outage[],
  /** Uniform in [0, 1). */
  chance: () => number,
) {
  const lives = new Map<MachineId, MachineLife>();
  const stands = places.map((place, at) => {
    const rows = new Map<MachineId, MemberRow>();
    for (const machineId of place.members) {
      lives.set(machineId, { order: null, busyUntilMs: 0, isGone: false });
      rows.set(machineId, newRow(place, machineId));
    }
    const modes = new Map<MachineId, ServerMode>(place.members.map((each) => [each, 'active']));
    return { place, at, rows, modes, memory: newRemembered() };
  });
  type PoolStand = (typeof stands)[number];
  let nowMs = 0;
  let known: readonly MemberRow[] = [];
  const begun = new Set<DrainOrder>();
  const ended = new Map<DrainOrder, number>();
  const wrongs: string[] = [];
  let awayMs = 0;
  const allRows = () => stands.flatMap(({ rows }) => [...rows.values()]);

  const healthOf = ({ place }: PoolStand, machineId: MachineId) =>
    outages.some(
      (each) =>
        places[each.place] === place &&
        each.machineId === machineId &&
        nowMs >= each.fromMs &&
        nowMs < each.fromMs + each.lengthMs,
    )
      ? 'down'
      : 'up';
  const wishOf = ({ at }: PoolStand, machineId: MachineId): Wish => {
    const { order, busyUntilMs, isGone } = lives.get(machineId)!;
    const about = { slot: SLOT, machineId };
    if (isGone || nowMs < busyUntilMs) return { ...about, want: 'drop', reason: 'it is worked on' };
    const isHeard = order !== null && nowMs >= order.fromMs + (order.heardAfterMs[at] ?? 0);
    if (!isHeard) return { ...about, want: 'serve', address: machineId };
    const { fromMs: askedAtMs, force, leaves } = order;
    const wish = { ...about, want: 'drain', reason: 'asked', force, askedAtMs } as const;
    return leaves ? { ...wish, leaves } : wish;
  };
  const sightsOf = (stand: PoolStand): Map<MachineId, Sight> =>
    new Map(
      [...stand.rows.values()]
        .filter(({ state }) => state !== 'drained')
        .map(({ machineId }) => {
          const mode = stand.modes.get(machineId) ?? 'drain';
          const servers = [{ ref: { kind: 'server', id: machineId } as const, mode }];
          const health = healthOf(stand, machineId);
          const open = mode === 'active' && health === 'up' ? 1 : 0;
          const sessions = mode === 'active' || chance() < 0.3 ? 1 : 0;
          return [
            machineId,
            { servers, addresses: new Set([machineId]), isWhole: true, open, health, sessions },
          ];
        }),
    );
  const countServing = (stand: PoolStand) =>
    [...stand.rows.values()].filter(
      ({ machineId, state }) =>
        state === 'active' &&
        healthOf(stand, machineId) === 'up' &&
        wishOf(stand, machineId).want !== 'drop',
    ).length;
  const apply = (stand: PoolStand, change: MemberChange) => {
    const { machineId, to, graceMs, how, newDeadline: _, ...rest } = change;
    const before = stand.rows.get(machineId) ?? newRow(stand.place, machineId);
    if (to === 'gone') return void stand.rows.delete(machineId);
    // Like the database: no machine starts to serve while work runs on it.
    const isOpening = to === 'joining' || (to === 'active' && !mayServe(before));
    if (isOpening && nowMs < lives.get(machineId)!.busyUntilMs) return;
    const isNew = to !== undefined && to !== before.state;
    const row: MemberRow = {
      ...before,
      ...rest,
      ...(isNew && { state: to, sinceMs: nowMs, deadlineMs: null, how: how ?? null }),
      ...(to === 'draining' && { deadlineMs: nowMs + (graceMs ?? 0) }),
    };
    const wish = wishOf(stand, machineId);
    const isTaken = to === 'draining' && before.state === 'active';
    const wasUp = healthOf(stand, machineId) === 'up';
    stand.rows.set(machineId, row);
    if (to === 'joining' && before.state === 'drained') stand.modes.set(machineId, 'drain');
    const { minActive } = stand.place.pool;
    if (isTaken && wasUp && wish.want === 'drain' && !wish.force && countServing(stand) < minActive)
      wrongs.push(`${nowMs}: ${machineId} left ${countServing(stand)} active`);
  };
  const stepOne = (stand: PoolStand) => {
    const { place, rows, memory } = stand;
    const wishes = new Map(place.members.map((each) => [each, wishOf(stand, each)] as const));
    const steps = stepMembers({
      ...place,
      capabilities: { drain: 'native', sessions: true, health: true },
      wishes,
      rows: new Map(rows),
      sights: sightsOf(stand),
      memory,
      unreachable: null,
      mayDropAll: true,
      isTornDown: false,
      nowMs,
      elsewhere: new Map(
        place.members.map((each) => [
          each,
          otherPlaces(
            known.filter(({ machineId }) => machineId === each),
            { pool: place.pool.pool, balancer: place.balancer },
          ),
        ]),
      ),
    });
    for (const { move } of steps.moves) apply(stand, move);
    for (const { machineId, mode } of steps.modes) stand.modes.set(machineId, mode);
    rememberGivenBack(memory, steps.givenBack, wishes, nowMs);
  };
  const carryOut = () => {
    for (const [machineId, life] of lives) {
      const { order } = life;
      if (!order || nowMs < life.busyUntilMs) continue;
      const mine = allRows().filter((row) => row.machineId === machineId);
      if (mine.some(({ state }) => state === 'active')) {
        for (const row of mine.filter((each) => !mayServe(each))) {
          awayMs = Math.max(awayMs, nowMs - row.sinceMs);
        }
      }
      if (mine.some(mayServe)) continue;
      life.order = null;
      life.isGone = order.leaves;
      life.busyUntilMs = nowMs + order.workMs;
      ended.set(order, nowMs);
    }
    for (const order of orders) {
      const life = lives.get(order.machineId)!;
      const isDue = !begun.has(order) && order.fromMs <= nowMs && !life.order && !life.isGone;
      if (!isDue) continue;
      begun.add(order);
      life.order = order;
    }
  };

  return {
    wrongs,
    ended,
    rows: allRows,
    /** The longest time that a machine was away in one pool while it served in another. */
    awayMs: () => awayMs,
    now: () => nowMs,
    /** Orders that are not carried out, of machines that still exist. */
    left: () => orders.filter((each) => !ended.has(each) && !lives.get(each.machineId)!.isGone),
    isGone: (machineId: MachineId) => lives.get(machineId)!.isGone,
    tick(): void {
      nowMs += TICK_MS;
      carryOut();
      for (const stand of stands.toSorted(() => chance() - 0.5)) {
        if (chance() < 0.8) stepOne(stand);
      }
      known = allRows();
    },
  };
}

const newRow = ({ pool, balancer }: PoolAtBalancer, machineId: MachineId): MemberRow =>
  memberRow({ pool: pool.pool, balancer, machineId, sinceMs: 0 });

export const placeOf = (
  name: string,
  balancer: string,
  members: readonly MachineId[],
  change: Partial<Pick<Pool, 'minActive'>> & { atOnce?: number } = {},
): PoolAtBalancer => {
  const { atOnce = 1, minActive = 1 } = change;
  const drain = { ...poolOf().drain, atOnce };
  return { pool: poolOf({ pool: name, minActive, drain }), balancer, members };
};
