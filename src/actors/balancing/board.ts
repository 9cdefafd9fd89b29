import type { Plan } from '../../domain/balancing/plan.ts';
import type { Sight } from '../../domain/balancing/sights.ts';
import type { MachineId } from '../../domain/ids.ts';
import type { PoolDesk } from './desk.ts';

/** What this daemon itself knows of a pool that it tends at a balancer; the rest is in rows. */
export interface TendedPool {
  readonly pool: string;
  readonly balancer: string;
  /** State of its chart, or of its objects while it is tended; in it since, epoch ms of the database. */
  readonly state: string;
  readonly sinceMs: number;
  readonly generation: number;
  /** Why it failed last, until it is settled again; null: it did not. */
  readonly lastError: string | null;
  /** The last plan; null: there was none yet. */
  readonly plan: Plan | null;
  /** As seen last; empty: it was not looked at yet. */
  readonly members: ReadonlyMap<MachineId, Pick<Sight, 'health' | 'sessions'>>;
  /** External addresses, each with the ports under which it is there, whatever their state. */
  readonly addresses: ReadonlyMap<string, readonly number[]>;
}

/** The pools that this daemon tends. */
export interface PoolsBoard {
  /** By pool and balancer. */
  tended(): readonly TendedPool[];
  /**
   * External addresses of a pool with the ports that all of its balancers have that are tended here.
   * An address without such a port is left out.
   */
  addresses(pool: string): ReadonlyMap<string, readonly number[]>;
}

export interface OpenPoolsBoard extends PoolsBoard {
  put(desk: PoolDesk): void;
  remove(desk: PoolDesk): void;
}

export function createPoolsBoard(): OpenPoolsBoard {
  const desks = new Set<PoolDesk>();
  const tended = () => [...desks].map(tendedOf);
  return {
    put: (desk) => void desks.add(desk),
    remove: (desk) => void desks.delete(desk),
    tended,
    addresses(pool) {
      const [first, ...others] = tended().filter((each) => each.pool === pool);
      const merged = new Map<string, readonly number[]>();
      for (const [address, ports] of first?.addresses ?? []) {
        const left = ports.filter((port) =>
          others.every(({ addresses }) => addresses.get(address)?.includes(port)),
        );
        if (left.length > 0) merged.set(address, left);
      }
      return merged;
    },
  };
}

function tendedOf({ name, shown, lastError, plan, seen }: PoolDesk): TendedPool {
  const { objects = [], sights = new Map<MachineId, Sight>() } = seen() ?? {};
  const addresses = new Map<string, number[]>();
  for (const { spec } of objects) {
    if (spec.kind !== 'bind') continue;
    const ports = addresses.get(spec.address) ?? [];
    addresses.set(
      spec.address,
      [...ports, spec.number].toSorted((a, b) => a - b),
    );
  }
  return { ...name, ...shown, lastError, plan, members: sights, addresses };
}
