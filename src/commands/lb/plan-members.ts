import { stepMembers, type Steps } from '../../domain/balancing/member-steps.ts';
import type { MemberRow, Wish } from '../../domain/balancing/members.ts';
import type { PoolRow } from '../../domain/balancing/pool-row.ts';
import { newRemembered, sightsOf } from '../../domain/balancing/sights.ts';
import { wishOf } from '../../domain/balancing/wish.ts';
import type { MachineId } from '../../domain/ids.ts';
import type { RecordedFleet } from '../machine/recorded-fleet.ts';
import type { PoolThere } from './observed.ts';

/** What would become of one machine in a pool. */
export interface MemberMove {
  readonly member: string;
  /** Null: it is no member. */
  readonly from: string | null;
  /** Null: it stays what it is. */
  readonly to: string | null;
  readonly why: string | null;
}

export interface MemberPlan {
  readonly moves: readonly MemberMove[];
  /** Members that would be dropped together, and are not: too many at once. */
  readonly panic: readonly string[];
}

/**
 * What would become of a pool's members next, by rows and by what the balancer shows. Of what only a
 * provider tells (plan, labels) nothing is known here: such machines stay what they are. What a
 * daemon remembers of earlier looks is not known here either.
 */
export function planMembers(
  { pool, balancer, capabilities, observed, failure }: PoolThere,
  row: PoolRow,
  { entries, read, loss }: Pick<RecordedFleet, 'entries' | 'read' | 'loss'>,
): MemberPlan {
  const wishes = new Map<MachineId, Wish>();
  const names = new Map<MachineId, string>();
  const rows = new Map<MachineId, MemberRow>();
  const moment = { nowMs: read.nowMs, loss, standings: [] };
  for (const { facts, view } of entries) {
    const wish = wishOf(facts, view, pool, moment);
    if (wish) wishes.set(wish.machineId, wish);
    if (facts.row) names.set(facts.row.machineId, facts.slot);
  }
  for (const machine of read.machines) {
    const own = machine.members.find(
      (each) => each.pool === pool.pool && each.balancer === balancer,
    );
    if (own) rows.set(machine.machineId, own);
  }
  if (capabilities === null) return { moves: [], panic: [] };
  const steps = stepMembers({
    pool,
    balancer,
    capabilities,
    wishes,
    rows,
    sights: observed && sightsOf(pool, observed),
    memory: newRemembered(),
    unreachable: failure === null ? null : { sinceMs: read.nowMs, why: failure },
    mayDropAll: row.accepted !== null,
    isTornDown: row.tornDown !== null,
    nowMs: read.nowMs,
  });
  const nameOf = (machine: MachineId): string => names.get(machine) ?? machine;
  const moves = steps.moves.map((each) => moveOf(each, rows, wishes, nameOf));
  return { moves, panic: steps.panic.map(nameOf) };
}

function moveOf(
  { move }: Steps['moves'][number],
  rows: ReadonlyMap<MachineId, MemberRow>,
  wishes: ReadonlyMap<MachineId, Wish>,
  nameOf: (machine: MachineId) => string,
): MemberMove {
  const { machineId, to = null, note } = move;
  const wish = wishes.get(machineId);
  const reason = wish && 'reason' in wish ? wish.reason : null;
  return {
    member: nameOf(machineId),
    from: rows.get(machineId)?.state ?? null,
    to,
    why: note ?? reason,
  };
}
