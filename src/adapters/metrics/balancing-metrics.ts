import type { Registry } from 'prom-client';
import { MEMBER_STATES } from '../../domain/balancing/members.ts';
import { POOL_STATES } from '../../domain/balancing/pool-states.ts';
import { balancingFamilies } from './balancing-families.ts';
import type { BalancingMetrics, PoolLabels } from './port.ts';

const OPERATIONS = ['create', 'destroy'] as const;

/** Counts of pools and balancers. Gauges of a pool are there only while this daemon tends it. */
export function balancingMetrics(registry: Registry): BalancingMetrics {
  const families = balancingFamilies(registry);
  const { pending, state, frozen, settledAt, members } = families;
  const writes = {
    created: families.created,
    deleted: families.deleted,
    createError: families.createErrors,
    deleteError: families.deleteErrors,
    deleteRetry: families.deleteRetries,
  };
  const setPending = (pool: PoolLabels, counts: Record<(typeof OPERATIONS)[number], number>) => {
    for (const operation of OPERATIONS) pending.set({ ...pool, operation }, counts[operation]);
  };
  return {
    poolTended(pool) {
      for (const counter of Object.values(writes)) counter.inc({ ...pool }, 0);
      setPending(pool, { create: 0, destroy: 0 });
      frozen.set({ ...pool }, 0);
    },
    poolPass: (pool, seconds) => families.pass.observe({ ...pool }, seconds),
    poolCreationWait: (pool, seconds) => families.creationWait.observe({ ...pool }, seconds),
    poolWrites: (pool, what, count) => writes[what].inc({ ...pool }, count),
    poolPending: setPending,
    poolRetrieved: (pool, type, count) => families.retrieved.inc({ ...pool, type }, count),
    poolDrained: (pool, seconds) => families.drains.observe({ ...pool }, seconds),
    poolStanding(pool, figures) {
      for (const each of POOL_STATES) {
        state.set({ ...pool, state: each }, each === figures.state ? 1 : 0);
      }
      for (const each of MEMBER_STATES) {
        members.set({ ...pool, state: each }, figures.members[each] ?? 0);
      }
      frozen.set({ ...pool }, figures.isFrozen ? 1 : 0);
      if (figures.settledAtMs !== null) settledAt.set({ ...pool }, figures.settledAtMs / 1000);
    },
    poolLeft(pool) {
      for (const operation of OPERATIONS) pending.remove({ ...pool, operation });
      for (const each of POOL_STATES) state.remove({ ...pool, state: each });
      for (const each of MEMBER_STATES) members.remove({ ...pool, state: each });
      frozen.remove({ ...pool });
      settledAt.remove({ ...pool });
    },
    balancerCall: ({ balancer: lb, ...rest }) => families.requests.inc({ ...rest, lb }),
    balancerInFlight: ({ balancer: lb, ...rest }, by) => families.inFlight.inc({ ...rest, lb }, by),
  };
}
