import { poolsOf } from '../../config.ts';
import { poolSummaries, type SeenPool } from '../../daemon/views/pool-summaries.ts';
import type { PoolSummary } from '../../console/port.ts';
import { mergedAddresses, type Addresses } from '../../domain/balancing/pools.ts';
import { sightsOf } from '../../domain/balancing/sights.ts';
import { slotOfRow } from '../../domain/filing/named-fleet.ts';
import { readFleet, type Means, type Told } from '../machine/command.ts';
import type { RecordedFleet } from '../machine/recorded-fleet.ts';
import type { Format } from '../remote/flags.ts';
import { documentText, isData } from '../remote/output.ts';
import { readAtBalancers, type Looking, type PoolThere } from './observed.ts';
import { placesOf } from './pools.ts';
import { poolText, type Amiss, type SeenAt } from './status.ts';

export interface LiveOptions extends Looking {
  /** Only this one; all when absent. */
  readonly pool?: string | undefined;
  readonly format: Format;
}

/**
 * `shepherd lb status --live`: how pools stand as the BMDB tells it, and what their balancers show.
 * @throws {NotFound} there is no such pool.
 */
export async function poolStatusLive(options: LiveOptions, means: Means): Promise<Told> {
  const fleet = await readFleet(means);
  const configured = poolsOf(means.config);
  const there = await readAtBalancers(
    configured.filter(({ pool }) => options.pool === undefined || pool === options.pool),
    options,
    means,
  );
  const pools = placesOf(options.pool, summariesOf(fleet, means, there));
  const served = servedOf(pools);
  const { nowMs } = fleet.read;
  if (isData(options.format)) {
    const told = pools.map((each) => ({
      ...each,
      ...failureOf(each, there),
      amiss: amissAt(each, there),
    }));
    const found = [...served].map(([name, places]) => [name, Object.fromEntries(places)]);
    const document = { atMs: nowMs, pools: told, served: Object.fromEntries(found) as object };
    return { text: await documentText(document, options.format), exitCode: 0 };
  }
  if (pools.length === 0) return { text: 'no pool is configured, or recorded', exitCode: 0 };
  const blocks = [...Map.groupBy(pools, ({ pool }) => pool)].map(([name, places]) =>
    [
      ...places.map((each) => poolText(each, seenAt(each, there), nowMs, means.width)),
      servedText(name, served.get(name) ?? new Map()),
    ].join('\n'),
  );
  return { text: blocks.join('\n\n'), exitCode: 0 };
}

/** How the recorded pools stand, and what was seen of them. */
export function summariesOf(
  { read }: Pick<RecordedFleet, 'read'>,
  { config }: Pick<Means, 'config'>,
  there: readonly PoolThere[] = [],
): readonly PoolSummary[] {
  return poolSummaries({
    pools: poolsOf(config),
    balancers: config.balancers,
    rows: read.pools,
    leases: read.leases,
    machines: read.machines.map((row) => ({ slot: slotOfRow(row), members: row.members })),
    seen({ pool, balancer }) {
      const found = there.find(
        (each) => each.pool.pool === pool && each.balancer === balancer && each.observed !== null,
      );
      return found ? seenOf(found) : null;
    },
  });
}

function seenOf({ pool, observed }: PoolThere): SeenPool {
  const addresses = new Map<string, readonly number[]>();
  for (const { spec } of observed ?? []) {
    if (spec.kind !== 'bind') continue;
    const ports = [...(addresses.get(spec.address) ?? []), spec.number];
    addresses.set(
      spec.address,
      ports.toSorted((a, b) => a - b),
    );
  }
  return { members: sightsOf(pool, observed ?? []), addresses };
}

const failureOf = (
  { pool, balancer }: PoolSummary,
  there: readonly PoolThere[],
): { readonly failure?: string } => {
  const found = there.find((each) => each.pool.pool === pool && each.balancer === balancer);
  return found?.failure ? { failure: found.failure } : {};
};

/** What of the objects that were seen is not as ours are; what is missing, `lb plan` tells. */
function amissAt({ pool, balancer }: PoolSummary, there: readonly PoolThere[]): readonly Amiss[] {
  const found = there.find((each) => each.pool.pool === pool && each.balancer === balancer);
  return (found?.observed ?? []).flatMap(({ spec, phase, detail, differs, tagged }) => {
    const what = [
      ...(differs === undefined ? [] : [`differs: ${differs}`]),
      ...(phase === 'ready' ? [] : [detail === undefined ? phase : `${phase}: ${detail}`]),
      ...(tagged ? [] : ['bears no mark of its owner']),
    ];
    return what.length === 0 ? [] : [{ kind: spec.kind, name: spec.name, what: what.join('; ') }];
  });
}

const seenAt = (pool: PoolSummary, there: readonly PoolThere[]): SeenAt => ({
  failure: failureOf(pool, there).failure,
  amiss: amissAt(pool, there),
});

/** Of each pool where clients find it at all of its balancers. */
function servedOf(pools: readonly PoolSummary[]): ReadonlyMap<string, Addresses> {
  const byPool = Map.groupBy(pools, ({ pool }) => pool);
  return new Map(
    [...byPool].map(([pool, places]) => [
      pool,
      mergedAddresses(
        places.map(
          ({ addresses }) => new Map((addresses ?? []).map((each) => [each.address, each.ports])),
        ),
      ),
    ]),
  );
}

const servedText = (pool: string, served: Addresses): string => {
  const places = [...served].map(([address, ports]) => `${address} (${ports.join(', ')})`);
  return `${pool} is found at ${places.join(', ') || 'no address that all of its balancers have'}`;
};
