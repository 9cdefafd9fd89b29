import { merge, Observable, Subject } from 'rxjs';
import type { PoolsBoard } from '../../actors/balancing/board.ts';
import type { Mirror } from '../../actors/mirror/mirror.ts';
import type { PoolSummary } from '../../console/port.ts';
import type { MemberRow } from '../../domain/balancing/members.ts';
import type { Pool } from '../../domain/balancing/pools.ts';
import type { Slot } from '../../domain/ids.ts';
import type { SlotFacts } from '../../domain/machine.ts';
import { sameData } from '../../lib/data.ts';
import { poolSummaries, type PoolsRead } from './pool-summaries.ts';

export interface PoolsViewDeps {
  readonly pools: readonly Pool[];
  readonly balancers: PoolsRead['balancers'];
  readonly mirror: Pick<Mirror, 'pools' | 'leases' | 'facts'>;
  readonly board: PoolsBoard;
  /** Fires when a pool stands differently in the database. */
  readonly poolChanges$: Observable<void>;
}

/** The pools in the words of the console: rows for all, health of those that are tended here. */
export interface PoolsView {
  /** By pool and balancer. */
  pools(): readonly PoolSummary[];
  /** Fires when a pool or a member stands differently, or is seen to be in another health. */
  readonly changes$: Observable<void>;
  /** To be told of what is true of slots now. @param changed all of them when absent. */
  onFacts(facts: ReadonlyMap<Slot, SlotFacts>, changed?: ReadonlySet<Slot>): void;
}

const NONE: readonly MemberRow[] = [];

export function createPoolsView(deps: PoolsViewDeps): PoolsView {
  const { mirror, board } = deps;
  const memberChanges = new Subject<void>();
  const told = new Map<Slot, readonly MemberRow[]>();
  const sights$ = new Observable<void>((listener) => board.onSights(() => listener.next()));

  /** Whether what the slot's machine is to its pools is another thing than it was. */
  const isOther = (slot: Slot, facts: SlotFacts | undefined): boolean => {
    const members = facts?.row?.members ?? NONE;
    const before = told.get(slot) ?? NONE;
    if (members.length === 0) told.delete(slot);
    else told.set(slot, members);
    return !sameData(before, members);
  };
  return {
    pools: () =>
      poolSummaries({
        ...deps,
        rows: mirror.pools(),
        leases: mirror.leases(),
        machines: membersIn(mirror.facts()),
        seen: ({ pool, balancer }) =>
          board.tended().find((each) => each.pool === pool && each.balancer === balancer) ?? null,
      }),
    changes$: merge(deps.poolChanges$, memberChanges, sights$),
    onFacts(facts, changed = new Set([...told.keys(), ...facts.keys()])) {
      const others = [...changed].filter((slot) => isOther(slot, facts.get(slot)));
      if (others.length > 0) memberChanges.next();
    },
  };
}

function* membersIn(facts: ReadonlyMap<Slot, SlotFacts>) {
  for (const { slot, row } of facts.values()) {
    if (row && row.members.length > 0) yield { slot, members: row.members };
  }
}
