import type { FleetRows } from '../../adapters/bmdb/port.ts';
import type { LoadBalancer } from '../../adapters/balancer/port.ts';
import type { Clock, Random } from '../../adapters/clock/port.ts';
import type { Log } from '../../adapters/log/port.ts';
import type { LabelsOf, Metrics } from '../../adapters/metrics/port.ts';
import type { PoolName, PoolRow } from '../../domain/balancing/pool-row.ts';
import type { Pool } from '../../domain/balancing/pools.ts';
import type { Slot } from '../../domain/ids.ts';
import type { SlotFacts } from '../../domain/machine.ts';
import type { Leases } from '../leases.ts';
import type { SessionKeeper } from '../session-keeper.ts';
import type { WishBook } from './wishes.ts';

/** A configured balancer that is open. */
export interface OpenBalancer {
  readonly name: string;
  /** Name of its driver, for metrics. */
  readonly driver: string;
  readonly balancer: LoadBalancer;
}

export interface BalancingDeps {
  readonly pools: readonly Pool[];
  /** By name. */
  readonly balancers: ReadonlyMap<string, OpenBalancer>;
  readonly mirror: {
    /** All rows, from a read that begins after the call. */
    readFleet(signal: AbortSignal): Promise<FleetRows>;
    facts(): ReadonlyMap<Slot, SlotFacts>;
    /** Pool rows as of the last read. */
    pools(): readonly PoolRow[];
  };
  /** Rows were read and the guard's state is known, so that desired members are known. */
  readonly isKnown: () => boolean;
  readonly wishes: WishBook;
  readonly keeper: SessionKeeper;
  readonly leases: Leases;
  /** Database clock, epoch ms. */
  readonly nowMs: () => number;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly metrics: Metrics;
}

/** Counters of created and removed objects, and of errors. */
export const WRITES = [
  'shepherd_lb_reconcile_created_total',
  'shepherd_lb_reconcile_deleted_total',
  'shepherd_lb_reconcile_create_errors_total',
  'shepherd_lb_reconcile_delete_errors_total',
  'shepherd_lb_reconcile_delete_retries_total',
] as const;

/** Exports the plan's pending changes: with each plan, and as zeros at the end of each run. */
export function tellPending(
  { metrics }: Pick<BalancingDeps, 'metrics'>,
  { labels }: { readonly labels: LabelsOf<'shepherd_lb_frozen'> },
  pending: { readonly create: number; readonly destroy: number },
): void {
  for (const operation of ['create', 'destroy'] as const) {
    const name = 'shepherd_lb_reconcile_resources_pending';
    metrics.set(name, { ...labels, operation }, pending[operation]);
  }
}

/** The lease for writes to a balancer. */
export const balancerJob = (balancer: string): string => `balancer/${balancer}`;

/**
 * The lease for tending a pool at a balancer. Held by the daemon with the balancer's lease if it
 * has the pool in its configuration, or by a process that deletes the pool.
 */
export const poolJob = ({ pool, balancer }: PoolName): string => `pool/${balancer}/${pool}`;
