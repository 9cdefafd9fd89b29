import type { Addresses } from '../../domain/balancing/pools.ts';
import type { Sight } from '../../domain/balancing/sights.ts';
import type { MachineId } from '../../domain/ids.ts';
import type { PoolDesk } from './desk.ts';

/** The part of a tended pool's state that only this daemon knows; the rest is in rows. */
export interface TendedPool {
  readonly pool: string;
  readonly balancer: string;
  /** State of its chart, or of its objects while it is tended. */
  readonly state: string;
  /** As last seen; empty before the first look. */
  readonly members: ReadonlyMap<MachineId, Pick<Sight, 'health' | 'sessions'>>;
  /** External addresses with their ports at the balancer, in any state. */
  readonly addresses: Addresses;
}

/** The pools that this daemon tends. */
export interface PoolsBoard {
  /** Pools, sorted by name and balancer. */
  tended(): readonly TendedPool[];
  /** All internal state of the pools. */
  desks(): Iterable<PoolDesk>;
  put(desk: PoolDesk): void;
  remove(desk: PoolDesk): void;
}

export function createPoolsBoard(): PoolsBoard {
  const desks = new Set<PoolDesk>();
  return {
    put: (desk) => void desks.add(desk),
    remove: (desk) => void desks.delete(desk),
    tended: () => [...desks].map(tendedOf),
    desks: () => desks.values(),
  };
}

function tendedOf({ name, state, seen }: PoolDesk): TendedPool {
  const { objects = [], sights = new Map<MachineId, Sight>() } = seen() ?? {};
  const addresses = new Map<string, number[]>();
  for (const { spec } of objects) {
    if (spec.kind !== 'bind') continue;
    const ports = [...(addresses.get(spec.address) ?? []), spec.number];
    addresses.set(
      spec.address,
      ports.toSorted((a, b) => a - b),
    );
  }
  return { ...name, state, members: sights, addresses };
}
