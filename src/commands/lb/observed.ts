import type { LoadBalancer } from '../../adapters/balancer/port.ts';
import { BALANCER_DRIVERS } from '../../adapters/balancer/drivers.ts';
import { silentLog } from '../../adapters/log/port.ts';
import { silentMetrics } from '../../adapters/metrics/port.ts';
import { openBalancer } from '../../daemon/balancers.ts';
import type { Observed } from '../../domain/balancing/objects.ts';
import type { Pool } from '../../domain/balancing/pools.ts';
import { explain, FleetError } from '../../domain/errors.ts';
import type { Means } from '../machine/command.ts';

/** A configured pool at one of its balancers, and what is there of it, or why that cannot be read. */
export interface PoolThere {
  readonly pool: Pool;
  readonly balancer: string;
  readonly capabilities: LoadBalancer['capabilities'] | null;
  readonly observed: readonly Observed[] | null;
  readonly failure: string | null;
}

/** What is needed to look at balancers. */
export interface Looking {
  readonly version: string;
  /** By the name in `driver:`; those of the program when absent. */
  readonly drivers?: typeof BALANCER_DRIVERS;
}

/** Reads the pools at their balancers, and changes nothing. One that cannot be read says why. */
export async function readAtBalancers(
  pools: readonly Pool[],
  { version, drivers = BALANCER_DRIVERS }: Looking,
  { config, clock, random, signal }: Means,
): Promise<readonly PoolThere[]> {
  const names = [...new Set(pools.flatMap(({ balancers }) => balancers))];
  const around = { clock, random, log: silentLog, metrics: silentMetrics, version, drivers };
  const read = names.map(async (balancer): Promise<PoolThere[]> => {
    const own = pools.filter(({ balancers }) => balancers.includes(balancer));
    let open: LoadBalancer | null = null;
    const there: PoolThere[] = [];
    try {
      open = openBalancer(balancer, config.balancers[balancer]!, around);
      for (const pool of own) there.push(await readOne(pool, balancer, open, signal));
    } finally {
      await open?.close();
    }
    return there;
  });
  const found = (await Promise.all(read)).flat();
  return pools.flatMap((pool) => found.filter((each) => each.pool === pool));
}

async function readOne(
  pool: Pool,
  balancer: string,
  open: LoadBalancer,
  signal: AbortSignal,
): Promise<PoolThere> {
  const about = { pool, balancer, capabilities: open.capabilities };
  try {
    return { ...about, observed: await open.observe(pool, { signal }), failure: null };
  } catch (error) {
    if (!(error instanceof FleetError)) throw error;
    return { ...about, observed: null, failure: explain(error) };
  }
}
