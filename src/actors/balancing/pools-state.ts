import type { Addresses } from '../../domain/balancing/pools.ts';
import type { Sight } from '../../domain/balancing/member-readings.ts';
import type { MachineId } from '../../domain/ids.ts';
import type { PoolService } from './pool-service.ts';

/** The part of a managed pool's state that only this daemon knows; the rest is in rows. */
export interface TendedPool {
  readonly pool: string;
  readonly balancer: string;
  /** State of its chart, or of its objects while it is managed. */
  readonly state: string;
  /** As last seen; empty before the first look. */
  readonly members: ReadonlyMap<MachineId, Pick<Sight, 'health' | 'sessions'>>;
  /** External addresses with their ports at the balancer, in any state. */
  readonly addresses: Addresses;
}

/** The pools that this daemon manages. */
export interface PoolsState {
  /** Pools, sorted by name and balancer. */
  tended(): readonly TendedPool[];
  /** All internal state of the pools. */
  services(): Iterable<PoolService>;
  put(service: PoolService): void;
  remove(service: PoolService): void;
}

export function createPoolsBoard(): PoolsState {
  const services = new Set<PoolService>();
  return {
    put: (service) => void services.add(service),
    remove: (service) => void services.delete(service),
    tended: () => [...services].map(tendedOf),
    services: () => services.values(),
  };
}

function tendedOf({ name, state, seen }: PoolService): TendedPool {
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
