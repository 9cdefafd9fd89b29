import type { Clock } from '../../adapters/clock/port.ts';
import type { DesiredMember } from '../../domain/balancing/members.ts';
import type { Pool } from '../../domain/balancing/pools.ts';
import {
  wishDueAtMs,
  restsOnGuard,
  wishOf,
  type WishMoment,
} from '../../domain/balancing/desired-member.ts';
import type { MachineId, Slot } from '../../domain/ids.ts';
import type { SlotFacts } from '../../domain/machine.ts';
import { sameData } from '../../lib/data.ts';
import type { MachineView } from '../../domain/view.ts';
import { createDueTimes } from '../due-times.ts';

/** The desired state of each machine in each pool, as far as is known. */
export interface DesiredMemberRepository {
  of(pool: string): ReadonlyMap<MachineId, DesiredMember>;
  /** Calls back shortly after changes in the pool; returns an unsubscribe function. */
  onChange(pool: string, callback: () => void): () => void;
  /** To be called for each view that changed, or whose facts did. */
  onView(view: MachineView): void;
  onVanished(slot: Slot): void;
  /** To be called when facts changed. @param changed slots that may have; absent: any. */
  onFacts(facts: ReadonlyMap<Slot, SlotFacts>, changed?: ReadonlySet<Slot>): void;
  /** To be called when the guard's state changed. */
  onGuard(): void;
  /** Clears all timers. */
  stop(): void;
}

export interface DesiredMemberRepositoryDeps {
  readonly pools: readonly Pool[];
  readonly facts: () => ReadonlyMap<Slot, SlotFacts>;
  readonly viewOf: (slot: Slot) => MachineView | undefined;
  readonly moment: () => WishMoment;
  readonly clock: Clock;
}

/** Time for which changes are collected before callbacks. */
export const DEBOUNCE_MS = 250;

/**
 * Keeps desired members up to date with the mirror and the clock. A change costs time for the
 * number of pools, not for the fleet.
 */
export function createDesiredMembers(deps: DesiredMemberRepositoryDeps): DesiredMemberRepository {
  const { pools, facts, viewOf, moment, clock } = deps;
  const byPool = new Map(pools.map(({ pool }) => [pool, new Map<MachineId, DesiredMember>()]));
  /** The machine of each slot that has desired memberships. */
  const tenants = new Map<Slot, MachineId>();
  const unsure = new Set<Slot>();
  const callbacks = new Map<string, Set<() => void>>();
  const timers = new Map<string, unknown>();

  const tell = (pool: string) => {
    if (timers.has(pool) || !callbacks.get(pool)?.size) return;
    const timer = clock.setTimeout(() => {
      timers.delete(pool);
      for (const callback of callbacks.get(pool) ?? []) callback();
    }, DEBOUNCE_MS);
    timers.set(pool, timer);
  };
  const put = (pool: string, machine: MachineId, wish: DesiredMember | null) => {
    const wishes = byPool.get(pool)!;
    const before = wishes.get(machine) ?? null;
    if (sameData(before, wish)) return;
    if (wish) wishes.set(machine, wish);
    else wishes.delete(machine);
    tell(pool);
  };
  const leave = (slot: Slot) => {
    const machine = tenants.get(slot);
    unsure.delete(slot);
    dueTimes.set(slot, null);
    if (machine === undefined) return;
    tenants.delete(slot);
    for (const { pool } of pools) {
      // A machine that moved to another slot keeps its state there.
      if (byPool.get(pool)?.get(machine)?.slot === slot) put(pool, machine, null);
    }
  };
  const derive = (slot: Slot, now: WishMoment) => {
    const known = facts().get(slot);
    const view = viewOf(slot);
    if (!known?.row || !view) return leave(slot);
    const { machineId } = known.row;
    if (tenants.get(slot) !== machineId) leave(slot);
    tenants.set(slot, machineId);
    if (restsOnGuard(view)) unsure.add(slot);
    else unsure.delete(slot);
    let isWished = false;
    for (const pool of pools) {
      const wish = wishOf(known, view, pool, now);
      put(pool.pool, machineId, wish);
      isWished ||= wish !== null;
    }
    dueTimes.set(slot, isWished ? wishDueAtMs(known, now) : null);
  };
  const deriveAll = (slots: Iterable<Slot>) => {
    const now = moment();
    for (const slot of slots) derive(slot, now);
  };
  const dueTimes = createDueTimes<Slot>(clock, () => moment().nowMs, deriveAll);
  const isIdle = pools.length === 0;

  return {
    of: (pool) => byPool.get(pool) ?? new Map<MachineId, DesiredMember>(),
    onChange(pool, callback) {
      const known = callbacks.get(pool) ?? new Set();
      callbacks.set(pool, known.add(callback));
      return () => void known.delete(callback);
    },
    onView(view) {
      if (!isIdle) derive(view.slot, moment());
    },
    onVanished: leave,
    onFacts(all, changed) {
      if (isIdle) return;
      deriveAll(changed ?? all.keys());
      if (changed) return;
      for (const slot of [...tenants.keys()]) if (!all.has(slot)) leave(slot);
    },
    onGuard() {
      deriveAll([...unsure]);
    },
    stop() {
      dueTimes.stop();
      for (const timer of timers.values()) clock.clearTimeout(timer);
      timers.clear();
    },
  };
}
