import type { PoolsState } from '../../actors/balancing/pools-state.ts';
import { poolJob } from '../../actors/balancing/deps.ts';
import type { Mirror } from '../../actors/mirror/mirror.ts';
import type { Log } from '../../adapters/log/port.ts';
import type { MemberSummary, PoolSummary } from '../../console/port.ts';
import { type MemberRow, mayServe } from '../../domain/balancing/members.ts';
import type { PoolRow, PoolName } from '../../domain/balancing/pool-row.ts';
import type { Addresses, Pool } from '../../domain/balancing/pools.ts';
import type { LeaseRow } from '../../domain/daemons.ts';
import type { MachineId, Slot } from '../../domain/ids.ts';
import type { SlotFacts } from '../../domain/machine.ts';

/** The sources of pool summaries: configuration, rows, and looks at balancers. */
export interface PoolsRead {
  readonly pools: readonly Pool[];
  readonly balancers: Readonly<Record<string, { readonly driver: string }>>;
  readonly rows: readonly PoolRow[];
  readonly leases: readonly LeaseRow[];
  readonly machines: Iterable<MemberMachine>;
  /** The last look at a balancer; null: none. Absent: no looks. */
  readonly seen?: (at: PoolName) => ObservedPool | null;
}

interface MemberMachine {
  /** Null: its slot is unknown. */
  readonly slot: Slot | null;
  readonly members: readonly MemberRow[];
}
export interface ObservedPool {
  readonly members: ReadonlyMap<MachineId, Pick<MemberSummary, 'health' | 'sessions'>>;
  readonly addresses: Addresses;
}

/**
 * Each pool's state at each balancer, by pool and balancer. A pool that is no longer configured
 * stays while it has records.
 */
export function poolSummaries(read: PoolsRead): readonly PoolSummary[] {
  const { pools, balancers, rows, leases, seen = () => null } = read;
  const members = membersByPlace(read.machines);
  const places = new Map<string, PoolName>();
  const wanted = pools.flatMap(({ pool, balancers: names }) =>
    names.map((balancer) => ({ pool, balancer })),
  );
  for (const { pool, balancer } of [...wanted, ...rows]) {
    places.set(keyOf({ pool, balancer }), { pool, balancer });
  }
  for (const [key, [first]] of members) if (first) places.set(key, first.row);
  return [...places]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, { pool, balancer }]): PoolSummary => {
      const row = rows.find((each) => keyOf(each) === key);
      const found = seen({ pool, balancer });
      return {
        pool,
        balancer,
        driver: balancers[balancer]?.driver ?? null,
        isConfigured: wanted.some((each) => keyOf(each) === key),
        state: row?.state ?? null,
        reason: row?.reason ?? null,
        settledAtMs: row?.settledAtMs ?? null,
        observedAtMs: row?.observedAtMs ?? null,
        retryAtMs: row?.retryAtMs ?? null,
        frozen: row?.frozen ? { atMs: row.frozen.atMs, reason: row.frozen.reason } : null,
        paused: row?.paused ?? null,
        tornDown: row?.tornDown ?? null,
        isTended: leases.some(({ name, held }) => held && name === poolJob({ pool, balancer })),
        minActive: pools.find((each) => each.pool === pool)?.minActive ?? 0,
        members: (members.get(key) ?? []).map((each) => memberSummary(each, found)),
        addresses: found && [...found.addresses].map(([address, ports]) => ({ address, ports })),
      };
    });
}

const keyOf = ({ pool, balancer }: PoolName): string => `${pool}\n${balancer}`;

interface Placed {
  readonly slot: Slot | null;
  readonly row: MemberRow;
}

function membersByPlace(machines: Iterable<MemberMachine>): ReadonlyMap<string, Placed[]> {
  const found = [...machines].flatMap(({ slot, members }) => members.map((row) => ({ slot, row })));
  const byName = found.toSorted((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1));
  return Map.groupBy(byName, ({ row }) => keyOf(row));
}

const nameOf = ({ slot, row }: Placed): string => slot ?? row.machineId;

function memberSummary({ slot, row }: Placed, seen: ObservedPool | null): MemberSummary {
  const { pool: _, balancer: __, ...member } = row;
  const sight = seen?.members.get(row.machineId);
  return {
    ...member,
    slot,
    health: sight?.health ?? null,
    sessions: sight?.sessions ?? row.sessions,
  };
}

export interface PoolsViewDeps {
  readonly pools: readonly Pool[];
  readonly balancers: PoolsRead['balancers'];
  readonly mirror: Pick<Mirror, 'pools' | 'leases' | 'facts'>;
  readonly board: Pick<PoolsState, 'tended'>;
}

/** The console's view of pools: rows for all, health for those managed here. */
export const createPoolsView = (deps: PoolsViewDeps) => (): readonly PoolSummary[] =>
  poolSummaries({
    ...deps,
    rows: deps.mirror.pools(),
    leases: deps.mirror.leases(),
    machines: membersIn(deps.mirror.facts()),
    seen: ({ pool, balancer }) =>
      deps.board.tended().find((each) => each.pool === pool && each.balancer === balancer) ?? null,
  });

function* membersIn(facts: ReadonlyMap<Slot, SlotFacts>) {
  for (const { slot, row } of facts.values()) {
    if (row && row.members.length > 0) yield { slot, members: row.members };
  }
}

export interface StrangePoolsDeps {
  readonly pools: readonly Pool[];
  readonly mirror: Pick<Mirror, 'pools' | 'leases' | 'facts'>;
  readonly log: Log;
}

/**
 * Warns once about each pool with recorded members that no daemon manages and this daemon does not
 * configure. Until then, orders for its members wait for their drain.
 * @returns to be called when facts or pool rows may have changed.
 */
export function watchStrangePools({ pools, mirror, log }: StrangePoolsDeps): () => void {
  const told = new Set<string>();
  let before: readonly [readonly PoolRow[], readonly LeaseRow[]] | null = null;
  const isOurs = ({ pool, balancer }: PoolName) =>
    pools.some((each) => each.pool === pool && each.balancers.includes(balancer));
  return () => {
    const [rows, leases] = [mirror.pools(), mirror.leases()];
    if (before?.[0] === rows && before[1] === leases) return;
    before = [rows, leases];
    const jobs = new Set(leases.filter(({ held }) => held).map(({ name }) => name));
    for (const { pool, balancer } of rows) {
      const key = JSON.stringify([pool, balancer]);
      if (told.has(key) || isOurs({ pool, balancer }) || jobs.has(poolJob({ pool, balancer })))
        continue;
      const members = servingAt(mirror.facts(), { pool, balancer });
      if (members === 0) continue;
      told.add(key);
      log.warn({ pool, balancer, members }, STRANGE);
    }
  };
}

const STRANGE =
  'a pool without configuration here has recorded members: orders for them wait until a daemon ' +
  'manages it; configure it again, or delete its records with "shepherd lb forget"';

function servingAt(facts: ReturnType<Mirror['facts']>, at: PoolName): number {
  let count = 0;
  for (const { row } of facts.values()) {
    const isThere = row?.members.some(
      (each) => each.pool === at.pool && each.balancer === at.balancer && mayServe(each),
    );
    if (isThere) count += 1;
  }
  return count;
}
