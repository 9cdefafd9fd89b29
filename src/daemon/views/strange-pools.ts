import { poolJob } from '../../actors/balancing/deps.ts';
import type { Mirror } from '../../actors/mirror/mirror.ts';
import type { Log } from '../../adapters/log/port.ts';
import { mayServe } from '../../domain/balancing/members.ts';
import type { PoolName, PoolRow } from '../../domain/balancing/pool-row.ts';
import type { Pool } from '../../domain/balancing/pools.ts';
import type { LeaseRow } from '../../domain/machine.ts';

export interface StrangePoolsDeps {
  readonly pools: readonly Pool[];
  readonly mirror: Pick<Mirror, 'pools' | 'leases' | 'facts'>;
  readonly log: Log;
}

/**
 * Tells people, once for each, of pools that are recorded with members, that nobody tends, and that are
 * not in this daemon's configuration: whoever waits for their members to be let go waits until then.
 * @returns to be called when facts, or how pools stand, may be others.
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
  'members of a pool are recorded that is not configured here: orders for them wait until a daemon ' +
  'tends it; configure it again, or have it forgotten by "shepherd lb forget"';

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
