import type { MemberSummary, PoolSummary } from '../../console/port.ts';
import { poolsOf } from '../../config.ts';
import { poolSummaries, type SeenPool } from '../../daemon/pool-summaries.ts';
import { mergedAddresses, type Addresses } from '../../domain/balancing/merged-addresses.ts';
import { sightsOf } from '../../domain/balancing/sights.ts';
import { readFleet, type Means, type Told } from '../machine/command.ts';
import { columnLines, noteLines, paragraph, spanText, whenText } from '../machine/layout.ts';
import { slotOfRow, type RecordedFleet } from '../machine/recorded-fleet.ts';
import { jsonLine } from '../text-table.ts';
import {
  isConfigured,
  noSuchPool,
  readAtBalancers,
  type Looking,
  type PoolThere,
} from './observed.ts';

export interface StatusOptions extends Looking {
  /** Only this one; all when absent. */
  readonly pool?: string | undefined;
  /** Ask the balancers, too. */
  readonly live: boolean;
  readonly json: boolean;
}

/**
 * `shepherd lb status`: how pools stand at their balancers as the BMDB tells it; with `live` also
 * what the balancers show.
 * @throws {UsageError} there is no such pool.
 */
export async function poolStatus(options: StatusOptions, means: Means): Promise<Told> {
  const fleet = await readFleet(means);
  const configured = poolsOf(means.config);
  const there = options.live
    ? await readAtBalancers(
        configured.filter(({ pool }) => options.pool === undefined || pool === options.pool),
        options,
        means,
      )
    : [];
  const all = summariesOf(fleet, means, there);
  const names = [...new Set(all.map(({ pool }) => pool))];
  if (options.pool !== undefined && !names.includes(options.pool)) {
    throw noSuchPool(options.pool, names);
  }
  const pools = all.filter(({ pool }) => options.pool === undefined || pool === options.pool);
  const served = options.live ? servedOf(pools) : null;
  const { nowMs } = fleet.read;
  if (options.json) {
    const told = pools.map((each) => ({
      ...each,
      isConfigured: isConfigured(each, means),
      ...failureOf(each, there),
    }));
    const merged = served && {
      served: Object.fromEntries(
        [...served].map(([name, found]) => [name, Object.fromEntries(found)]),
      ),
    };
    return { text: jsonLine({ atMs: nowMs, pools: told, ...merged }), exitCode: 0 };
  }
  if (pools.length === 0) return { text: 'no pool is configured, or recorded', exitCode: 0 };
  const blocks = names
    .filter((name) => pools.some(({ pool }) => pool === name))
    .map((name) =>
      [
        ...pools
          .filter(({ pool }) => pool === name)
          .map((each) => poolText(each, failureOf(each, there).failure, nowMs, means)),
        ...(served ? [servedText(name, served.get(name) ?? new Map())] : []),
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

function poolText(
  pool: PoolSummary,
  failure: string | undefined,
  nowMs: number,
  means: Pick<Means, 'config' | 'width'>,
): string {
  const { balancer, driver, state, isTended, settledAtMs, members, minActive } = pool;
  const { width } = means;
  const settled = settledAtMs === null ? 'never yet' : whenText(settledAtMs, nowMs);
  const isOurs = isConfigured(pool, means);
  const kind = isOurs ? driver : 'not configured here';
  const active = members.filter((each) => each.state === 'active').length;
  return [
    paragraph(`${pool.pool} at ${balancer} (${kind}): ${state ?? 'nothing was done yet'}`, width),
    ...troublesOf(pool, failure, nowMs).map((text) => noteLines(text, width)),
    ...(isOurs ? [] : [noteLines(STRANGE, width)]),
    noteLines(`settled: ${settled}${isTended ? '' : `; no daemon tends ${balancer} now`}`, width),
    noteLines(`${active} active of ${members.length} members; at least ${minActive}`, width),
    ...memberLines(members, nowMs, width),
  ].join('\n');
}

/** What is recorded of it is left from another configuration, or belongs to one that is elsewhere. */
const STRANGE =
  'daemons with this configuration do not tend it, and orders for its members wait: configure it ' +
  'again, or let "shepherd lb forget" remove what is recorded of it';

function troublesOf(pool: PoolSummary, failure: string | undefined, nowMs: number): string[] {
  const { reason, frozen, paused, tornDown, retryAtMs } = pool;
  return [
    ...(failure === undefined ? [] : [`CANNOT BE READ: ${failure}`]),
    ...(reason === null ? [] : [reason]),
    ...(retryAtMs !== null && retryAtMs > nowMs
      ? [`tried again ${whenText(retryAtMs, nowMs)}`]
      : []),
    ...(frozen ? [`FROZEN since ${whenText(frozen.atMs, nowMs)}: ${frozen.reason}`] : []),
    ...(paused
      ? [`PAUSED by ${paused.by} since ${whenText(paused.atMs, nowMs)}: ${paused.reason}`]
      : []),
    ...(tornDown
      ? [`TORN DOWN by ${tornDown.by} since ${whenText(tornDown.atMs, nowMs)}: ${tornDown.reason}`]
      : []),
  ];
}

function memberLines(members: readonly MemberSummary[], nowMs: number, width: number): string[] {
  if (members.length === 0) return [];
  const [head, ...lines] = columnLines([
    ['    member', 'state', 'for', 'health', 'sessions'],
    ...members.map((member) => [
      `    ${member.slot ?? member.machineId}`,
      memberText(member),
      spanText(nowMs - member.sinceMs),
      member.health ?? '-',
      member.sessions === null ? '-' : String(member.sessions),
    ]),
  ]);
  return [
    head!,
    ...members.flatMap(({ note }, at) => [
      lines[at]!,
      ...(note === null ? [] : [noteLines(`  ${note}`, width)]),
    ]),
  ];
}

/** As the page says it. */
export const memberText = ({
  state,
  how,
  waived,
  refused,
}: Pick<MemberSummary, 'state' | 'how' | 'waived' | 'refused'>): string =>
  [
    state + (how === null ? '' : ` (${how})`),
    ...(waived ? ['waived'] : []),
    ...(refused ? ['refused'] : []),
  ].join(', ');
