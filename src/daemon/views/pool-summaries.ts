import { poolJob } from '../../actors/balancing/deps.ts';
import type { MemberSummary, PoolSummary } from '../../console/port.ts';
import type { MemberRow } from '../../domain/balancing/members.ts';
import type { Addresses, Pool } from '../../domain/balancing/pools.ts';
import type { PoolRow } from '../../domain/balancing/pool-row.ts';
import type { MachineId, Slot } from '../../domain/ids.ts';
import type { LeaseRow } from '../../domain/machine.ts';

/** What pools are told from: the configuration, rows, and what was seen at balancers. */
export interface PoolsRead {
  readonly pools: readonly Pool[];
  readonly balancers: Readonly<Record<string, { readonly driver: string }>>;
  readonly rows: readonly PoolRow[];
  readonly leases: readonly LeaseRow[];
  readonly machines: Iterable<MemberMachine>;
  /** What was seen at a balancer; null: it was not looked at. Nothing was, when absent. */
  readonly seen?: (at: PoolPlace) => SeenPool | null;
}

interface PoolPlace {
  readonly pool: string;
  readonly balancer: string;
}
interface MemberMachine {
  /** Null: nobody knows where it is. */
  readonly slot: Slot | null;
  readonly members: readonly MemberRow[];
}
export interface SeenPool {
  readonly members: ReadonlyMap<MachineId, Pick<MemberSummary, 'health' | 'sessions'>>;
  readonly addresses: Addresses;
}

/**
 * How each pool stands at each of its balancers, by pool and balancer. One that is not configured any
 * more is told as long as something is recorded of it.
 */
export function poolSummaries(read: PoolsRead): readonly PoolSummary[] {
  const { pools, balancers, rows, leases, seen = () => null } = read;
  const members = membersByPlace(read.machines);
  const places = new Map<string, PoolPlace>();
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

const keyOf = ({ pool, balancer }: PoolPlace): string => `${pool}\n${balancer}`;

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

function memberSummary({ slot, row }: Placed, seen: SeenPool | null): MemberSummary {
  const { pool: _, balancer: __, ...member } = row;
  const sight = seen?.members.get(row.machineId);
  return {
    ...member,
    slot,
    health: sight?.health ?? null,
    sessions: sight?.sessions ?? row.sessions,
  };
}
